import t from 'tap';
import { buildApi, MACHINE, WEB } from '../../applications-api.ts';
import { latestEntries } from '../../audit-entries.ts';

const api = await buildApi(t);
const { call, make, people, applications, revoked } = api;

t.test('an application is made, read, changed and removed', async (t) => {
  const made = await call('POST', '', { ...WEB, profiles: { v1_users: 'E', items: 'cursor' } });
  t.equal(made.status, 201);
  t.equal(made.headers.get('cache-control'), 'no-store');
  const id = String(made.body.client_id);
  t.equal(made.headers.get('location'), `/api/v1/applications/${id}`);
  const { client_secret: secret, ...shown } = made.body;
  t.match(secret, /^[\w-]{43}$/);
  t.match(shown, {
    ...WEB,
    post_logout_redirect_uris: [],
    profiles: { v1_users: 'E', items: 'cursor' },
    legacy_implicit: false,
    trusted: false,
    owner: 'usr_ann',
    token_endpoint_auth_method: 'client_secret_basic',
    created_at: /^\d{4}-.*Z$/,
    updated_at: /^\d{4}-.*Z$/,
  });
  t.same((await call('GET', `/${id}`)).body, shown, 'the secret is shown once');
  t.equal(await applications.checkSecret(id, String(secret)), true);
  t.equal(await applications.checkSecret(id, `${secret}x`), false);

  const changed = await call('PATCH', `/${id}`, {
    name: ' Renamed ',
    redirect_uris: ['http://localhost:3000/cb'],
  });
  t.match(changed, { status: 200, body: { name: 'Renamed', redirect_uris: ['http://localhost:3000/cb'] } });
  t.ok(String(changed.body.updated_at) > String(shown.updated_at));
  t.match(await revoked(id), [{ kind: 'client', epoch: 0 }], 'every replica hears of it, and no token ends');

  const removed = await call('DELETE', `/${id}`);
  t.same(api.endedGrants, [id], 'what people have allowed it is over');
  t.equal(removed.status, 204);
  t.match(await revoked(id), [{ kind: 'client', epoch: 1 }]);
  t.equal((await call('GET', `/${id}`)).status, 404);
  t.equal((await call('DELETE', `/${id}`)).status, 404);
  t.equal(await applications.checkSecret(id, String(secret)), false);
  const log = await latestEntries(api.auditStore, { client: id }, 10);
  t.same(
    log.map(({ action }) => action),
    ['application.deleted', 'application.changed', 'application.created'],
  );
  t.match(log[0], {
    subject: 'usr_ann',
    origin: { address: '127.0.0.1' },
    details: { by: 'gatehouse-login' },
  });
  t.notMatch(JSON.stringify(log), new RegExp(String(secret)));
});

t.test('errors name the field', async (t) => {
  const [uri = ''] = WEB.redirect_uris;
  const many = Array.from({ length: 21 }, (_, i) => `https://x.example/${i}`);
  const ofWeb: [string, object, string][] = [
    ['no name', { name: undefined }, 'name'],
    ['an empty name', { name: ' ' }, 'name'],
    ['a long name', { name: 'x'.repeat(201) }, 'name'],
    ['a name with a line break', { name: 'a\nb' }, 'name'],
    ['a name that reads backwards', { name: 'a\u202eb' }, 'name'],
    ['a name of nothing visible', { name: '\u200b\u200b' }, 'name'],
    ['no type', { type: undefined }, 'type'],
    ['another type', { type: 'desktop' }, 'type'],
    ['no scopes', { scopes: [] }, 'scopes'],
    ['scopes as a text', { scopes: 'openid' }, 'scopes'],
    ['an unknown scope', { scopes: ['delete:all'] }, 'scopes'],
    ['manage:apps', { scopes: ['manage:apps'] }, 'scopes'],
    ['a scope twice', { scopes: ['openid', 'openid'] }, 'scopes'],
    ['a scope beyond the ceiling', { scopes: ['read:all'] }, 'scopes'],
    ['no redirect URI', { redirect_uris: [] }, 'redirect_uris'],
    ['none at all', { redirect_uris: undefined }, 'redirect_uris'],
    ['a redirect URI for a resource', { type: 'resource', scopes: [] }, 'redirect_uris'],
    ['a bad redirect URI', { redirect_uris: [uri, 'https://x/#'] }, 'redirect_uris.1'],
    ['one twice', { redirect_uris: [uri, uri] }, 'redirect_uris'],
    ['too many', { redirect_uris: many }, 'redirect_uris'],
    ['a bad post-logout URI', { post_logout_redirect_uris: ['javascript:x'] }, 'post_logout_redirect_uris.0'],
    ['another profile', { profiles: { v1_users: 'B1' } }, 'profiles.v1_users'],
    ['a profile of nothing', { profiles: { v3_users: 'A' } }, 'profiles.v3_users'],
    ['implicit for native', { type: 'native', legacy_implicit: true }, 'legacy_implicit'],
    ['implicit with DPoP', { legacy_implicit: true, dpop_bound_access_tokens: true }, 'legacy_implicit'],
    ['keys for spa', { type: 'spa', jwks: { keys: [] } }, 'jwks'],
    ['a logout URI inside', { backchannel_logout_uri: 'http://127.0.0.1/' }, 'backchannel_logout_uri'],
    ['a misspelt field', { redirect_uri: 'https://x.example/' }, 'redirect_uri'],
    ['client_id', { client_id: 'app_mine' }, 'client_id'],
    ['owner', { owner: 'usr_ben' }, 'owner'],
  ];
  const ofMachine: [string, object, string][] = [
    ['internal', { scopes: ['internal'] }, 'scopes'],
    ['openid for a machine', { scopes: ['openid'] }, 'scopes'],
    ['read:profile for a machine', { scopes: ['read:profile'] }, 'scopes'],
    ['a redirect URI for a machine', { redirect_uris: WEB.redirect_uris }, 'redirect_uris'],
    ['scopes for a resource', { type: 'resource' }, 'scopes'],
    ['implicit for a machine', { legacy_implicit: true }, 'legacy_implicit'],
    ['a logout URI of a machine', { backchannel_logout_uri: 'https://a.example/' }, 'backchannel_logout_uri'],
  ];
  const rows: [string, unknown, string][] = [
    ['no body', undefined, 'The body'],
    ['a list', [], 'The body'],
    ...ofWeb.map(([name, more, field]): [string, unknown, string] => [name, { ...WEB, ...more }, field]),
    ...ofMachine.map(([name, more, field]): [string, unknown, string] => [
      name,
      { ...MACHINE, ...more },
      field,
    ]),
  ];
  for (const [name, body, field] of rows) {
    const { status, body: response } = await call('POST', '', body);
    t.equal(status, 400, name);
    t.match(response, { error: { code: 'invalid_parameter', message: String } }, name);
    const { details } = response.error as { details: { field: string }[] };
    t.ok(
      details.some((it) => it.field === field),
      `${name}: ${JSON.stringify(details)}`,
    );
  }
  t.match(await call('POST', '', '{"name"'), { status: 400 });
  const { id } = await make(WEB);
  for (const [field, value] of [
    ['type', 'spa'],
    ['redirect_uris', []],
    ['scopes', ['read:all']],
    ['nonsense', 1],
  ] as const)
    t.match(await call('PATCH', `/${id}`, { [field]: value }), {
      status: 400,
      body: { error: { details: [{ field }] } },
    });
});

t.test('people see and manage their own, admins all', async (t) => {
  const { id } = await make();
  for (const [method, path, body] of [
    ['GET', '', undefined],
    ['PATCH', '', { name: 'Mine' }],
    ['DELETE', '', undefined],
    ['GET', '/secrets', undefined],
    ['POST', '/secrets', {}],
    ['DELETE', '/secrets/sec_x', undefined],
    ['GET', '/api-keys', undefined],
    ['POST', '/api-keys', { name: 'x', scopes: ['read:data'] }],
    ['DELETE', '/api-keys/x', undefined],
    ['POST', '/api-keys/x/rotate', { overlap_seconds: 0 }],
  ] as const) {
    const other = await call(method, `/${id}${path}`, body, 'usr_ben');
    const none = await call(method, `/app_none${path}`, body, 'usr_ben');
    t.equal(other.status, 404, `${method} ${path}`);
    t.same(other.body, none.body, 'as if there were none');
  }
  t.equal((await call('PATCH', `/${id}`, { name: 'By an admin' }, 'usr_root')).status, 200);
  t.match((await call('GET', `/${id}`)).body, { name: 'By an admin', owner: 'usr_ann' });
});

t.test('only people with the scope', async (t) => {
  for (const who of ['usr_ann without', 'usr_ann machine', 'usr_ann key', 'nobody']) {
    t.match(
      await call('GET', '', undefined, who),
      { status: 403, body: { error: { code: 'forbidden' } } },
      who,
    );
    t.equal((await call('POST', '', MACHINE, who)).status, 403, who);
  }
});

t.test('lists page by keyset, whatever comes and goes', async (t) => {
  people.set('usr_many', { role: 'user', status: 'active', epoch: 0 });
  const ids: string[] = [];
  for (let i = 0; i < 7; i += 1) ids.push((await make(MACHINE, 'usr_many')).id);
  const seen: unknown[] = [];
  for (let path = '?limit=3'; path !== ''; ) {
    const { body } = await call('GET', path, undefined, 'usr_many');
    seen.push(...body.data.map(({ client_id }) => client_id));
    if (seen.length === 3) await call('DELETE', `/${seen[2]}`, undefined, 'usr_many');
    const next = (body.links as { next?: string }).next ?? '';
    path = next.replace('/api/v1/applications', '');
  }
  t.same(seen, ids);
  const all = await call('GET', '?limit=100', undefined, 'usr_root');
  t.ok(all.body.data.length > 6);
  for (const query of ['?limit=0', '?limit=101', '?cursor=%00', '?cursor=e30', '?cursor=x&cursor=y'])
    t.equal((await call('GET', query)).status, 400, query);
});

t.test('lists are searched by name, and admins filter them by owner', async (t) => {
  for (const id of ['usr_cat', 'usr_dan']) people.set(id, { role: 'user', status: 'active', epoch: 0 });
  const { id: shop } = await make({ ...MACHINE, name: 'Café shop – orders' }, 'usr_cat');
  const { id: stock } = await make({ ...MACHINE, name: 'Shop stock' }, 'usr_cat');
  const { id: other } = await make({ ...MACHINE, name: 'Stock of others' }, 'usr_dan');
  const found = async (query: string, who: string) => {
    const { status, body } = await call('GET', query, undefined, who);
    if (status !== 200) throw new Error(`${query} answered ${status}`);
    return body.data.map(({ client_id }) => client_id);
  };
  for (const [query, who, expected] of [
    ['', 'usr_cat', [shop, stock]],
    ['?q=shop', 'usr_cat', [shop, stock]],
    ['?q=CAFE+sh', 'usr_cat', [shop]],
    ['?q=stock', 'usr_cat', [stock]],
    ['?q=tock', 'usr_cat', []],
    ['?q=-', 'usr_cat', []],
    ['?q=stock', 'usr_root', [stock, other]],
    ['?q=stock&owner=usr_dan', 'usr_root', [other]],
    ['?owner=usr_cat', 'usr_root', [shop, stock]],
    ['?filter[owner]=usr_cat&filter[q]=orders', 'usr_root', [shop]],
    ['?owner=usr_nobody', 'usr_root', []],
    ['?owner=usr_cat', 'usr_cat', [shop, stock]],
    ['?owner=usr_dan', 'usr_cat', []],
  ] as const) {
    t.same(await found(query, who), expected, `${query} ${who}`);
  }
  await call('PATCH', `/${stock}`, { name: 'Warehouse' }, 'usr_cat');
  t.same([await found('?q=stock', 'usr_cat'), await found('?q=ware', 'usr_cat')], [[], [stock]]);
  await call('DELETE', `/${stock}`, undefined, 'usr_cat');
  t.same(await found('?q=ware', 'usr_root'), []);
  for (const [query, field] of [
    ['?q=', 'q'],
    ['?owner=', 'owner'],
    ['?filter[name]=x', 'filter[name]'],
    ['?filter[owner][ne]=usr_cat', 'filter[owner][ne]'],
    ['?offset=1', 'offset'],
    ['?cursor=x', 'cursor'],
  ] as const) {
    const { status, body } = await call('GET', query);
    t.match({ status, body }, { status: 400, body: { error: { details: [{ field }] } } }, query);
  }
});
