import t from 'tap';
import { ALL, build, ITEMS } from './build.ts';

const service = await build(t);
const { call, issuer } = service;
const machine = await issuer.machine(ALL);
const ann = await issuer.person('usr_ann', 'user', ALL);

/** Sends a value as JSON text, and returns the text of the item that is read afterwards. */
async function roundTrip(json: string): Promise<{ id: string; one: string; list: string }> {
  const created = await call('POST', ITEMS, machine, `{"name":"v","value":${json}}`);
  const { id } = created.body;
  const one = (await call('GET', `${ITEMS}/${id}`, machine)).text;
  const list = (await call('GET', `${ITEMS}?filter[id]=${id}`, machine)).text;
  return { id, one, list };
}

t.test('a value is kept as it was sent', async (t) => {
  for (const json of [
    '123456789012345678901234567890',
    '0.10',
    '1e400',
    '-0',
    '{"b":1,"a":{"2":1,"1":2}}',
    '{"":{"":null},"$set":{"a.b":1},"__proto__":{"x":1},"constructor":{"prototype":2}}',
    '["\\u0000","\\ud800","ä€😀\\n",[[]]]',
    `"${'x'.repeat(65_000)}"`,
  ]) {
    const { id, one, list } = await roundTrip(json);
    t.ok(one.startsWith(`{"id":"${id}","name":"v","value":${json},"created_at":"`), json.slice(0, 60));
    t.equal(list, `[{"id":"${id}","name":"v","value":${json}}]`, 'in a list as well');
  }
  const { id } = await roundTrip('1');
  const path = `${ITEMS}/${id}`;
  await call('PUT', path, machine, '{"value":10000000000000000000001}');
  t.match((await call('GET', path, machine)).text, '"name":"v","value":10000000000000000000001,');
  await call('PUT', path, machine, { name: 'w' });
  t.match((await call('GET', path, machine)).text, '"name":"w","value":10000000000000000000001,');
});

t.test('limits of names and values', async (t) => {
  const post = (name: unknown, json: string) =>
    call('POST', ITEMS, machine, `{"name":${JSON.stringify(name)},"value":${json}}`);
  const ofLength = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`;
  t.match(await post('😀'.repeat(200), ofLength(65_536)), { status: 201 });
  t.match(await post('n', ofLength(65_537)), {
    status: 400,
    body: { error: /value must have at most 65536/ },
  });
  t.match(await post('n', `"${'€'.repeat(22_000)}"`), { status: 400 }, 'bytes, not characters');
  t.match(await post('😀'.repeat(201), '1'), { status: 400, body: { error: /^name must have 1 to 200/ } });
  t.match(await post('a\0b', '1'), { status: 400 });
  const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  t.match(await post('n', deep(63)), { status: 201 });
  t.match(await post('n', deep(64)), { status: 400, body: { error: /more than 64 levels/ } });
  t.match(await post('n', ofLength(300_000)), { status: 413 });
});

t.test('whose items a caller sees and changes', async (t) => {
  const { call, issuer } = await build(t);
  const tokens = {
    ann: await issuer.person('usr_ann', 'user', ALL),
    // An application that is not trusted stands under its owner.
    'application of ann': await issuer.sign({
      trusted: false,
      owner: 'usr_ann',
      roles: ['user'],
      scope: ALL,
    }),
    bob: await issuer.person('usr_bob', 'user', ALL),
    editor: await issuer.person('usr_editor', 'editor', ALL),
    admin: await issuer.person('usr_admin', 'admin', ALL),
    machine: await issuer.machine(ALL),
  };
  type Who = keyof typeof tokens;
  const SEES: Record<Who, Who[]> = {
    ann: ['ann', 'application of ann'],
    'application of ann': ['ann', 'application of ann'],
    bob: ['bob'],
    editor: Object.keys(tokens) as Who[],
    admin: Object.keys(tokens) as Who[],
    machine: Object.keys(tokens) as Who[],
  };
  const ids = new Map<Who, string>();
  for (const who of Object.keys(tokens) as Who[]) {
    const created = await call('POST', ITEMS, tokens[who], { name: who, value: 0 });
    ids.set(who, created.body.id);
  }
  for (const [who, seen] of Object.entries(SEES) as [Who, Who[]][]) {
    const names = (items: { name: string }[]) => items.map(({ name }) => name);
    const list = (await call('GET', ITEMS, tokens[who])).body as unknown as { name: string }[];
    t.same(names(list), seen, `${who}: list`);
    const page = await call('GET', `${ITEMS}?cursor=`, tokens[who]);
    t.same(names(page.body.data), seen, `${who}: by cursor`);
    t.equal(page.body.meta.totalItems, seen.length, `${who}: total`);
    for (const [owner, id] of ids) {
      const path = `${ITEMS}/${id}`;
      const expected = seen.includes(owner) ? 200 : 404;
      t.equal((await call('GET', path, tokens[who])).status, expected, `${who} reads that of ${owner}`);
      t.equal((await call('PUT', path, tokens[who], { value: who })).status, expected);
      const found = await call('GET', `${ITEMS}?filter[id]=${id}`, tokens[who]);
      t.equal((found.body as unknown as object[]).length, expected === 200 ? 1 : 0);
      // That there is such an item is not told by its version either.
      const guarded = await call('PUT', path, tokens[who], { value: 0 }, { 'if-match': '"v0"' });
      t.equal(guarded.status, expected === 200 ? 412 : 404);
      if (expected === 404) t.equal((await call('DELETE', path, tokens[who])).status, 404);
    }
  }
  t.equal((await call('DELETE', `${ITEMS}/${ids.get('bob')}`, tokens.editor)).status, 204);
});

t.test('conditional requests and repetitions', async (t) => {
  const key = { 'idempotency-key': 'a-key' };
  const body = { name: 'once', value: { a: 1 } };
  const made = await Promise.all(Array.from({ length: 20 }, () => call('POST', ITEMS, ann, body, key)));
  const ids = made.filter(({ status }) => status === 201).map(({ body: { id } }) => id);
  t.equal(new Set(ids).size, 1, 'twenty at once make one item');
  t.ok(made.every(({ status }) => status === 201 || status === 409));
  t.match(await call('POST', ITEMS, ann, body, key), { status: 201, body: { id: ids[0] } });
  t.match(await call('POST', ITEMS, ann, { ...body, value: { a: 2 } }, key), { status: 422 });

  const path = `${ITEMS}/${ids[0]}`;
  const etag = (await call('GET', path, ann)).headers.get('etag') ?? '';
  t.match(await call('GET', path, ann, undefined, { 'if-none-match': etag }), { status: 304 });
  const changed = await call('PUT', path, ann, { value: 2 }, { 'if-match': etag });
  t.match(changed, { status: 200, body: { id: ids[0], message: 'Item updated.' } });
  t.not(changed.headers.get('etag'), etag);
  t.match(await call('PUT', path, ann, { value: 3 }, { 'if-match': etag }), { status: 412 });
  t.match(await call('DELETE', path, ann, undefined, { 'if-match': etag }), { status: 412 });
  t.match((await call('GET', path, ann)).text, '"value":2,');
  const racing = await Promise.all(
    Array.from({ length: 30 }, (_, i) => call('PUT', path, ann, { value: `by ${i}` })),
  );
  t.ok(
    racing.every(({ status }) => status === 200),
    'without a condition all changes are made',
  );
  const versions = new Set(racing.map(({ headers }) => headers.get('etag')));
  t.equal(versions.size, 30, 'each is a version');
});

t.test('the default of the deployment, pins and what a request asks for', async (t) => {
  const { call, issuer } = await build(t, { defaultProfile: 'cursor' });
  const byDefault = await issuer.machine(ALL);
  const pinned = await issuer.sign({ trusted: true, scope: ALL, profiles: { items: 'offset' } });
  await call('POST', ITEMS, byDefault, { name: 'a', value: 1 });
  const isBare = async (token: string, query = '') =>
    Array.isArray((await call('GET', ITEMS + query, token)).body);
  t.equal(await isBare(byDefault), false);
  t.equal(await isBare(byDefault, '?offset=0'), true, 'an offset asks for the bare array');
  t.equal(await isBare(pinned), true, 'a pin comes before the default');
  t.equal(await isBare(pinned, '?cursor='), false);
});
