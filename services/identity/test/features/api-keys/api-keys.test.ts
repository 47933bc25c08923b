import { setTimeout as sleep } from 'node:timers/promises';
import { parseApiKey } from '@gatehouse/verify/api-key';
import t from 'tap';
import { buildApi, MACHINE, WEB } from '../../applications-api.ts';
import { latestEntries } from '../../audit-entries.ts';
import { assertIndexed } from '../../store-set-up.ts';

const api = await buildApi(t);
const { call, make, people, apiKeys, revoked } = api;
const hashOf = (key: unknown) => parseApiKey(String(key))?.hash ?? '';
const resolve = (key: unknown) => apiKeys.resolve(hashOf(key));
const makeKey = (id: string, body: object = {}) =>
  call('POST', `/${id}/api-keys`, { name: 'CI', scopes: ['read:data'], ...body });

t.test('a key is made, listed, used and revoked', async (t) => {
  const { id } = await make({ ...MACHINE, profiles: { items: 'cursor' } });
  const made = await makeKey(id, { expires_in: 3600 });
  const { api_key: key, ...shown } = made.body;
  t.match(made, {
    status: 201,
    body: {
      api_key: /^gatehouse_\w{60}$/,
      name: 'CI',
      scopes: ['read:data'],
      last_used_at: null,
      rotated_to: null,
    },
  });
  t.equal(shown.prefix, `gatehouse_${shown.id}`);
  t.ok(String(key).startsWith(String(shown.prefix)));
  t.equal(shown.last_four, String(key).slice(-4));
  t.equal(made.headers.get('location'), `/api/v1/applications/${id}/api-keys/${shown.id}`);
  t.same(await resolve(key), {
    id: shown.id,
    client_id: id,
    scopes: ['read:data'],
    trusted: false,
    owner: 'usr_ann',
    role: 'user',
    profiles: { items: 'cursor' },
    epoch: { client: 0, subject: 1 },
    expires_at: shown.expires_at,
  });
  await new Promise((done) => setTimeout(done, 50));
  const list = await call('GET', `/${id}/api-keys`);
  t.match(list.body.data, [{ ...shown, last_used_at: /^\d{4}-/ }]);
  t.notMatch(JSON.stringify(list.body), new RegExp(`${key}|hash`));
  t.match((await call('GET', `/${id}/api-keys/${shown.id}`)).body, { id: shown.id });
  const stored = await api.connection.collection('api_keys').find({}).toArray();
  t.notMatch(JSON.stringify(stored), new RegExp(String(key)));

  t.equal((await call('DELETE', `/${id}/api-keys/${shown.id}`)).status, 204);
  t.equal(await resolve(key), undefined);
  t.match(await revoked(String(shown.id)), [{ kind: 'api_key' }]);
  t.equal((await call('DELETE', `/${id}/api-keys/${shown.id}`)).status, 404);
  t.same((await call('GET', `/${id}/api-keys`)).body.data, []);
  const log = await latestEntries(api.auditStore, { client: id }, 2);
  t.same(
    log.map(({ action }) => action),
    ['api_key.revoked', 'api_key.created'],
  );
});

t.test('errors', async (t) => {
  const { id } = await make();
  for (const [name, body] of [
    ['no name', { name: undefined }],
    ['an empty name', { name: '' }],
    ['no scopes', { scopes: [] }],
    ['a scope that the application has not', { scopes: ['write:data'] }],
    ['an unknown one', { scopes: ['x'] }],
    ['one twice', { scopes: ['read:data', 'read:data'] }],
    ['too short a life', { expires_in: 59 }],
    ['too long a life', { expires_in: 3650 * 86_400 + 1 }],
    ['a misspelt field', { expiresIn: 60 }],
  ] as const)
    t.match(await makeKey(id, body), { status: 400, body: { error: { code: 'invalid_parameter' } } }, name);
  const other = await make();
  const key = await makeKey(other.id);
  for (const [method, path] of [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/rotate'],
  ] as const)
    t.equal(
      (
        await call(
          method,
          `/${id}/api-keys/${key.body.id}${path}`,
          (path && { overlap_seconds: 1 }) || undefined,
        )
      ).status,
      404,
      'a key of another application',
    );
  t.equal(await apiKeys.resolve('x'.repeat(43)), undefined);
});

t.test('a key says who made it, if that was somebody else than the owner', async (t) => {
  const { id } = await make();
  for (const [who, expected] of [
    ['usr_ann', undefined],
    ['usr_root', 'usr_root'],
  ] as const) {
    const { body } = await call('POST', `/${id}/api-keys`, { name: 'x', scopes: ['read:data'] }, who);
    const { owner, given_by } = (await resolve(body.api_key)) ?? {};
    t.same([owner, given_by], ['usr_ann', expected], who);
  }
});

t.test('a key never goes beyond its application and its owner', async (t) => {
  people.set('usr_ed', { role: 'editor', status: 'active', epoch: 1 });
  const made = await call('POST', '', { ...WEB, scopes: ['read:all', 'read:data', 'openid'] }, 'usr_ed');
  const id = String(made.body.client_id);
  const body = { name: 'x', scopes: ['read:all', 'read:data'] };
  const {
    body: { api_key: key },
  } = await call('POST', `/${id}/api-keys`, body, 'usr_ed');
  t.match(await resolve(key), { scopes: ['read:all', 'read:data'], role: 'editor' });
  people.set('usr_ed', { role: 'user', status: 'active', epoch: 2 });
  const demoted = await resolve(key);
  t.same(demoted?.scopes, ['read:data'], 'a demotion');
  t.match(demoted, { role: 'user', epoch: { subject: 2 } });
  t.equal((await call('POST', `/${id}/api-keys`, body, 'usr_ed')).status, 400);
  t.equal(
    (await call('PATCH', `/${id}`, { name: 'Other' }, 'usr_ed')).status,
    200,
    'a name can be changed still',
  );
  await call('PATCH', `/${id}`, { scopes: ['read:all', 'openid'] }, 'usr_ed');
  const less = await resolve(key);
  t.same(less?.scopes, [], 'a scope less');
  t.match(less, { epoch: { client: 1 } });
  people.set('usr_ed', { role: 'user', status: 'inactive', epoch: 3 });
  t.equal(await resolve(key), undefined, 'a deactivation');
  people.delete('usr_ed');
  t.equal(await resolve(key), undefined, 'a deletion');
});

t.test('a trusted application stands for itself', async (t) => {
  const { id } = await make();
  const changes = { trusted: true, scopes: ['read:all', 'read:users'] };
  await call('PATCH', `/${id}`, changes, 'usr_root');
  const { body } = await call('POST', `/${id}/api-keys`, { name: 'x', scopes: ['read:users'] });
  const resolved = await resolve(body.api_key);
  t.match(resolved, { trusted: true, owner: null, role: null, scopes: ['read:users'] });
  t.same(resolved?.epoch, { client: 1 });
  await call('DELETE', `/${id}`);
  t.equal(await resolve(body.api_key), undefined);
  t.equal(await api.connection.collection('api_keys').countDocuments({ client_id: id }), 0);
});

t.test('an expired key is none', async (t) => {
  const { id } = await make();
  const { body } = await makeKey(id, { expires_in: 60 });
  const past = { $set: { expires_at: new Date(Date.now() - 1) } };
  await api.connection.collection<{ _id: string }>('api_keys').updateOne({ _id: String(body.id) }, past);
  t.equal(await resolve(body.api_key), undefined);
  t.same((await call('GET', `/${id}/api-keys`)).body.data, []);
  t.equal((await call('POST', `/${id}/api-keys/${body.id}/rotate`, { overlap_seconds: 0 })).status, 404);
});

t.test('fifty keys at most, however many are asked for at once', async (t) => {
  const { id } = await make();
  const responses = await Promise.all(Array.from({ length: 60 }, () => makeKey(id)));
  t.equal(responses.filter(({ status }) => status === 201).length, 50);
  t.equal(responses.filter(({ status }) => status === 409).length, 10);
  const [first] = (await call('GET', `/${id}/api-keys`)).body.data;
  await call('DELETE', `/${id}/api-keys/${first?.id}`);
  t.equal((await makeKey(id)).status, 201);
  t.equal((await makeKey(id)).status, 409);
  const past = { $set: { expires_at: new Date(Date.now() - 1) } };
  await api.connection.collection('api_keys').updateOne({ client_id: id }, past);
  t.equal((await makeKey(id)).status, 201, 'one that has expired makes room');
  t.equal((await makeKey(id)).status, 409);
});

t.test('a rotation leaves time to change over', async (t) => {
  const { id } = await make();
  const { body: old } = await makeKey(id, { expires_in: 86_400 });
  const rotate = (key: unknown, body: object) => call('POST', `/${id}/api-keys/${key}/rotate`, body);
  const { status, body: next } = await rotate(old.id, { overlap_seconds: 600 });
  t.equal(status, 201);
  t.match(next, { name: 'CI', scopes: ['read:data'], api_key: /^gatehouse_/ });
  const life = Date.parse(String(next.expires_at)) - Date.parse(String(next.created_at));
  t.equal(life, 86_400_000, 'as long a life as the old one had');
  const resolved = await resolve(old.api_key);
  t.ok(Math.abs(Date.parse(resolved?.expires_at ?? '') - Date.now() - 600_000) < 5000, 'the old one ends');
  t.ok(await resolve(next.api_key));
  t.match((await call('GET', `/${id}/api-keys/${old.id}`)).body, { rotated_to: next.id });

  t.match(await rotate(old.id, { overlap_seconds: 600 }), { status: 409 }, 'once at a time');
  await call('DELETE', `/${id}/api-keys/${next.id}`);
  const again = await rotate(old.id, { overlap_seconds: 2_592_000 });
  t.equal(again.status, 201, 'anew, when the successor is gone');
  t.ok(Date.parse(String((await resolve(old.api_key))?.expires_at)) - Date.now() <= 600_000, 'but no longer');

  const last = await rotate(again.body.id, { overlap_seconds: 0 });
  t.equal(await resolve(again.body.api_key), undefined, 'at once');
  t.match(await revoked(String(again.body.id)), [{ kind: 'api_key' }]);
  t.ok(await resolve(last.body.api_key));
  for (const body of [{}, { overlap_seconds: -1 }, { overlap_seconds: 2_592_001 }, { overlap_seconds: '1' }])
    t.equal((await rotate(last.body.id, body)).status, 400, JSON.stringify(body));

  const parallel = await Promise.all(
    Array.from({ length: 10 }, () => rotate(last.body.id, { overlap_seconds: 60 })),
  );
  t.equal(parallel.filter((it) => it.status === 201).length, 1, 'of many at once, one');
  const living = (await call('GET', `/${id}/api-keys`)).body.data;
  t.equal(living.length, 3, 'and no other is left behind');
});

t.test('a crash before the revocation is made up for', async (t) => {
  const { id } = await make();
  const { body } = await makeKey(id);
  api.fault.after = 0;
  t.equal((await call('DELETE', `/${id}/api-keys/${body.id}`)).status, 500);
  t.equal(await resolve(body.api_key), undefined);
  t.same(await revoked(String(body.id)), []);
  await apiKeys.resumeRevocations();
  t.match(await revoked(String(body.id)), [{ kind: 'api_key' }]);
  t.same(await api.keyStore.awaitingRevocation(), []);
});

t.test('a short overlap ends in time, although services remember what a key stands for', async (t) => {
  const { id } = await make();
  const { body } = await makeKey(id);
  await call('POST', `/${id}/api-keys/${body.id}/rotate`, { overlap_seconds: 1 });
  t.same(await revoked(String(body.id)), [], 'for now it lives');
  await sleep(1300);
  t.match(await revoked(String(body.id)), [{ kind: 'api_key' }]);
});

t.test('every query uses an index', (t) =>
  assertIndexed(t, api.connection, async () => {
    const { id } = await make();
    const { body } = await makeKey(id);
    await resolve(body.api_key);
    const { body: next } = await call('POST', `/${id}/api-keys/${body.id}/rotate`, { overlap_seconds: 1 });
    await call('DELETE', `/${id}/api-keys/${next.id}`);
    await apiKeys.resumeRevocations();
    await call('DELETE', `/${id}`);
  }),
);

t.test('an application whose tokens are bound to a key has no API keys', async (t) => {
  const { id } = await make(MACHINE);
  const { body } = await makeKey(id);
  const bound = { dpop_bound_access_tokens: true };
  const refused = await call('PATCH', `/${id}`, bound);
  t.match(refused, { status: 409, body: { error: { message: /Revoke the API keys/ } } });
  t.ok(await resolve(body.api_key), 'nothing has changed');
  await call('DELETE', `/${id}/api-keys/${body.id}`);
  t.equal((await call('PATCH', `/${id}`, bound)).status, 200);
  t.match(await makeKey(id), { status: 409, body: { error: { message: /without a proof/ } } });
  t.equal((await call('PATCH', `/${id}`, { name: 'Still bound' })).status, 200);

  const { id: raced } = await make(MACHINE);
  api.beforeWrite.next = () => call('PATCH', `/${raced}`, bound);
  const late = await makeKey(raced);
  t.equal(late.status, 201);
  t.equal(await resolve(late.body.api_key), undefined, 'one that is made at the same time does not work');
  const rotated = await call('POST', `/${raced}/api-keys/${late.body.id}/rotate`, { overlap_seconds: 0 });
  t.equal(rotated.status, 409);
});
