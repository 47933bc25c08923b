import { createWireRow } from '@gatehouse/testing/wire-snapshot';
import t from 'tap';
import { ALL, build, ITEMS } from './build.ts';

/**
 * What goes over the wire for each row of the interface about items (2.5, 2.8 and 4.3): request, status, the headers
 * that mean something, and the body. A snapshot that changes is an interface that changes.
 */

t.snapshotFile = new URL('wire.snapshot.cjs', import.meta.url);

const { issuer, call } = await build(t);
const pinned = (items: string) => issuer.sign({ trusted: true, scope: ALL, profiles: { items } });
const tokens = {
  machine: await issuer.machine(ALL),
  'machine that reads': await issuer.machine('read:all'),
  'machine without scopes': await issuer.machine('openid'),
  ann: await issuer.person('usr_ann', 'user', ALL),
  bob: await issuer.person('usr_bob', 'user', ALL),
  editor: await issuer.person('usr_editor', 'editor', ALL),
  'pinned to cursor': await pinned('cursor'),
  'pinned to offset': await pinned('offset'),
  nobody: undefined,
};
const row = createWireRow(call, tokens);

t.test('no items yet', async (t) => {
  for (const query of ['', '?offset=0', '?cursor=']) await row(t, 'machine', 'GET', ITEMS + query);
  await row(t, 'pinned to cursor', 'GET', ITEMS);
});

t.test('POST', async (t) => {
  for (const who of ['nobody', 'machine without scopes', 'machine that reads'] as const) {
    await row(t, who, 'POST', ITEMS, { name: 'a', value: 1 });
  }
  for (const value of [42, 'text', null, true, [1, { a: [] }], { '': null, $set: { 'a.b': 1 } }]) {
    await row(t, 'machine', 'POST', ITEMS, { name: 'n', value });
  }
  for (const body of [{}, { name: 'n' }, { value: 1 }, { name: 1, value: 1 }, { name: ' ', value: 1 }, []]) {
    await row(t, 'machine', 'POST', ITEMS, body);
  }
  await row(t, 'machine', 'POST', ITEMS, { name: 'n'.repeat(201), value: 1 });
  await row(t, 'machine', 'POST', ITEMS, '{"name":');
});

t.test('GET, the list', async (t) => {
  for (const query of [
    '',
    '?limit=2',
    '?limit=2&offset=2',
    '?limit=2&cursor=',
    '?page=2&limit=4',
    '?filter[name]=n&limit=1',
    '?name=n&limit=1',
    '?filter[created_at][gt]=2020-01-01&limit=1',
    '?unknown=1&limit=1',
    '?limit=0',
    '?limit=101',
    '?limit=x',
    '?offset=-1',
    '?offset=10001',
    '?cursor=x',
    '?cursor=&offset=0',
    '?filter[value]=1',
    '?filter[name][like]=n',
  ]) {
    await row(t, 'machine', 'GET', ITEMS + query);
  }
  for (const who of ['pinned to cursor', 'pinned to offset'] as const) {
    await row(t, who, 'GET', `${ITEMS}?limit=1`);
    await row(t, who, 'GET', `${ITEMS}?limit=1&offset=1`);
    await row(t, who, 'GET', `${ITEMS}?limit=1&cursor=`);
  }
  for (const who of ['nobody', 'machine without scopes', 'machine that reads', 'ann'] as const) {
    await row(t, who, 'GET', `${ITEMS}?limit=1`);
  }
});

t.test('one item: GET, PUT and DELETE', async (t) => {
  const id = await row(t, 'ann', 'POST', ITEMS, { name: 'of Ann', value: { a: 1 } });
  const path = `${ITEMS}/${id}`;
  for (const who of ['ann', 'editor', 'machine', 'machine that reads'] as const)
    await row(t, who, 'GET', path);
  for (const who of ['nobody', 'machine without scopes', 'bob'] as const) {
    await row(t, who, 'GET', path);
    await row(t, who, 'PUT', path, { name: 'x' });
    await row(t, who, 'DELETE', path);
  }
  await row(t, 'machine', 'GET', `${ITEMS}/itm_unknown`);

  for (const body of [{ name: 'renamed' }, { value: null }, { name: 'both', value: [1] }, {}]) {
    await row(t, 'ann', 'PUT', path, body);
  }
  await row(t, 'editor', 'PUT', path, { name: 'by the editor' });
  await row(t, 'ann', 'GET', path);
  for (const body of [{ name: '' }, { name: null }, 'x']) await row(t, 'ann', 'PUT', path, body);
  await row(t, 'machine', 'PUT', `${ITEMS}/itm_unknown`, { name: 'x' });
  await row(t, 'machine', 'PATCH', path, {});

  await row(t, 'ann', 'DELETE', path);
  await row(t, 'ann', 'DELETE', path);
  await row(t, 'ann', 'GET', path);
  await row(t, 'machine', 'DELETE', ITEMS);
});
