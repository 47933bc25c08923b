import { generateKeyPairSync } from 'node:crypto';
import t from 'tap';
import { hashSecret } from '../../../src/core/applications/application.ts';
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

t.test('who can keep no secret is given none', async (t) => {
  const native = { ...WEB, type: 'native', redirect_uris: ['com.example.app:/cb', 'http://127.0.0.1/cb'] };
  for (const body of [{ ...WEB, type: 'spa' }, native]) {
    const { id, secret } = await make(body);
    t.equal(secret, 'undefined');
    t.match((await call('GET', `/${id}`)).body, { token_endpoint_auth_method: 'none' });
    t.match(await call('POST', `/${id}/secrets`), { status: 400 });
  }
});

t.test('keys of its own in the place of a secret', async (t) => {
  const jwkOf = (type: 'ec' | 'rsa', options: object) => {
    const { publicKey, privateKey } = generateKeyPairSync(type as 'ec', options as { namedCurve: string });
    return {
      publicJwk: publicKey.export({ format: 'jwk' }),
      privateJwk: privateKey.export({ format: 'jwk' }),
    };
  };
  const { publicJwk, privateJwk } = jwkOf('ec', { namedCurve: 'P-256' });
  const more = { kid: 'k1', x5t: 'dropped', key_ops: ['verify'] };
  const made = await call('POST', '', { ...MACHINE, jwks: { keys: [{ ...publicJwk, ...more }] } });
  t.match(made, {
    status: 201,
    body: { token_endpoint_auth_method: 'private_key_jwt', client_secret: undefined },
  });
  t.same(made.body.jwks, { keys: [{ ...publicJwk, kid: 'k1' }] });
  const back = await call('PATCH', `/${made.body.client_id}`, { jwks: null });
  t.match(back.body, { token_endpoint_auth_method: 'client_secret_basic', jwks: null });

  const curve = jwkOf('ec', { namedCurve: 'secp256k1' }).publicJwk;
  const short = jwkOf('rsa', { modulusLength: 1024 }).publicJwk;
  const refused: [string, unknown, RegExp][] = [
    ['a private key', { keys: [privateJwk] }, /public keys only/],
    [
      'one among others',
      {
        keys: [
          { ...publicJwk, kid: 'a' },
          { ...privateJwk, kid: 'b' },
        ],
      },
      /public keys only/,
    ],
    ['a shared secret', { keys: [{ kty: 'oct', k: 'AAAA' }] }, /public keys only/],
    ['no list', {}, /JWK set/],
    ['no keys', { keys: [] }, /from 1 to 5/],
    ['many', { keys: Array.from({ length: 6 }, (_, i) => ({ ...publicJwk, kid: `${i}` })) }, /from 1 to 5/],
    ['without kid', { keys: [publicJwk, publicJwk] }, /kid/],
    [
      'the same kid',
      {
        keys: [
          { ...publicJwk, kid: 'a' },
          { ...publicJwk, kid: 'a' },
        ],
      },
      /kid/,
    ],
    ['another curve', { keys: [curve] }, /P-256/],
    ['a short RSA key', { keys: [short] }, /2048/],
    ['another alg', { keys: [{ ...publicJwk, alg: 'RS256' }] }, /ES256/],
    ['for encryption', { keys: [{ ...publicJwk, use: 'enc' }] }, /signing/],
    ['no point', { keys: [{ ...publicJwk, x: 'AAAA' }] }, /not valid/],
    ['numbers', { keys: [{ kty: 'EC', crv: 'P-256', x: 1, y: 2 }] }, /not a string/],
    ['nothing', { keys: [null] }, /P-256/],
  ];
  for (const [name, jwks, problem] of refused) {
    const response = await call('POST', '', { ...MACHINE, jwks });
    t.match(
      response,
      { status: 400, body: { error: { message: problem, details: [{ field: 'jwks' }] } } },
      name,
    );
    t.notMatch(JSON.stringify(response.body), new RegExp(String(privateJwk.d)), name);
  }
});

t.test('what is refused names the field', async (t) => {
  const rows: [string, unknown, string][] = [
    ['no body', undefined, 'The body'],
    ['a list', [], 'The body'],
    ['no name', { ...WEB, name: undefined }, 'name'],
    ['an empty name', { ...WEB, name: ' ' }, 'name'],
    ['a long name', { ...WEB, name: 'x'.repeat(201) }, 'name'],
    ['a name with a line break', { ...WEB, name: 'a\nb' }, 'name'],
    ['a name that reads backwards', { ...WEB, name: 'a\u202eb' }, 'name'],
    ['a name of nothing visible', { ...WEB, name: '\u200b\u200b' }, 'name'],
    ['no type', { ...WEB, type: undefined }, 'type'],
    ['another type', { ...WEB, type: 'desktop' }, 'type'],
    ['no scopes', { ...WEB, scopes: [] }, 'scopes'],
    ['scopes as a text', { ...WEB, scopes: 'openid' }, 'scopes'],
    ['an unknown scope', { ...WEB, scopes: ['delete:all'] }, 'scopes'],
    ['manage:apps', { ...WEB, scopes: ['manage:apps'] }, 'scopes'],
    ['internal', { ...MACHINE, scopes: ['internal'] }, 'scopes'],
    ['a scope twice', { ...WEB, scopes: ['openid', 'openid'] }, 'scopes'],
    ['a scope beyond the ceiling', { ...WEB, scopes: ['read:all'] }, 'scopes'],
    ['openid for a machine', { ...MACHINE, scopes: ['openid'] }, 'scopes'],
    ['read:profile for a machine', { ...MACHINE, scopes: ['read:profile'] }, 'scopes'],
    ['no redirect URI', { ...WEB, redirect_uris: [] }, 'redirect_uris'],
    ['none at all', { ...WEB, redirect_uris: undefined }, 'redirect_uris'],
    ['a redirect URI for a machine', { ...MACHINE, redirect_uris: WEB.redirect_uris }, 'redirect_uris'],
    ['scopes for a resource', { ...MACHINE, type: 'resource' }, 'scopes'],
    ['a redirect URI for a resource', { ...WEB, type: 'resource', scopes: [] }, 'redirect_uris'],
    [
      'a bad redirect URI',
      { ...WEB, redirect_uris: [...WEB.redirect_uris, 'https://x/#'] },
      'redirect_uris.1',
    ],
    ['one twice', { ...WEB, redirect_uris: [...WEB.redirect_uris, ...WEB.redirect_uris] }, 'redirect_uris'],
    [
      'too many',
      { ...WEB, redirect_uris: Array.from({ length: 21 }, (_, i) => `https://x.example/${i}`) },
      'redirect_uris',
    ],
    [
      'a post-logout URI on localhost',
      { ...WEB, post_logout_redirect_uris: ['http://localhost:3000/bye'] },
      'post_logout_redirect_uris.0',
    ],
    [
      'a bad post-logout URI',
      { ...WEB, post_logout_redirect_uris: ['javascript:x'] },
      'post_logout_redirect_uris.0',
    ],
    ['another profile', { ...WEB, profiles: { v1_users: 'B1' } }, 'profiles.v1_users'],
    ['a profile of nothing', { ...WEB, profiles: { v3_users: 'A' } }, 'profiles.v3_users'],
    ['implicit for native', { ...WEB, type: 'native', legacy_implicit: true }, 'legacy_implicit'],
    ['implicit for a machine', { ...MACHINE, legacy_implicit: true }, 'legacy_implicit'],
    [
      'implicit with DPoP',
      { ...WEB, legacy_implicit: true, dpop_bound_access_tokens: true },
      'legacy_implicit',
    ],
    ['keys for spa', { ...WEB, type: 'spa', jwks: { keys: [] } }, 'jwks'],
    [
      'a logout URI inside',
      { ...WEB, backchannel_logout_uri: 'http://127.0.0.1/' },
      'backchannel_logout_uri',
    ],
    [
      'a logout URI of a machine',
      { ...MACHINE, backchannel_logout_uri: 'https://a.example/' },
      'backchannel_logout_uri',
    ],
    ['a misspelt field', { ...WEB, redirect_uri: 'https://x.example/' }, 'redirect_uri'],
    ['client_id', { ...WEB, client_id: 'app_mine' }, 'client_id'],
    ['owner', { ...WEB, owner: 'usr_ben' }, 'owner'],
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
  for (const [id, role] of [
    ['usr_cat', 'user'],
    ['usr_dan', 'user'],
  ] as const) {
    people.set(id, { role, status: 'active', epoch: 0 });
  }
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

t.test('only an admin makes an application trusted, and only a machine', async (t) => {
  const { id } = await make();
  t.equal((await call('PATCH', `/${id}`, { trusted: true })).status, 403);
  t.equal((await call('POST', '', { ...MACHINE, trusted: true })).status, 403);
  t.equal((await call('PATCH', `/${id}`, { trusted: false })).status, 200, 'as it is');
  t.match(await call('PATCH', `/${id}`, { trusted: true, scopes: ['read:data', 'read:all'] }, 'usr_root'), {
    status: 200,
    body: { trusted: true, trusted_by: 'usr_root', owner: 'usr_ann' },
  });
  t.equal((await call('PATCH', `/${id}`, { trusted: false })).status, 403);
  const { trusted_at } = (await call('GET', `/${id}`)).body;
  t.ok(Date.now() - Date.parse(String(trusted_at)) < 5000);
  const change = (scopes: string[], who?: string) => call('PATCH', `/${id}`, { scopes }, who);
  const widened = await change(['read:data', 'read:all', 'write:users']);
  t.match(widened, { status: 400, body: { error: { details: [{ field: 'scopes' }] } } });
  t.equal((await change(['read:all', 'read:data'])).status, 200, 'its owner may leave it as it is');
  const narrowed = { trusted_by: 'usr_root', trusted_at, scopes: ['read:data'] };
  t.match(await change(['read:data']), { status: 200, body: narrowed }, 'or narrow it');
  t.equal((await change(['read:data', 'read:users'])).status, 400, 'even to what its owner may have');
  t.equal((await change(['read:data', 'read:all'])).status, 400, 'or to what it had');
  people.set('usr_second', { role: 'admin', status: 'active', epoch: 1 });
  t.match(await change(['read:data', 'write:users'], 'usr_second'), {
    status: 200,
    body: { trusted_by: 'usr_second' },
  });
  await call('PATCH', `/${id}`, { name: 'Renamed' }, 'usr_root');
  t.match(await call('PATCH', `/${id}`, { trusted: false }, 'usr_root'), {
    body: { trusted: false, trusted_by: null, trusted_at: null },
  });
  const web = await make(WEB);
  t.match(await call('PATCH', `/${web.id}`, { trusted: true }, 'usr_root'), { status: 400 });
});

t.test('trust rests on the owner’s role at the grant, and on their account', async (t) => {
  type Person = { role: 'user' | 'editor' | 'admin'; status: 'active' | 'inactive'; epoch: number };
  const active = (role: Person['role']): Person => ({ role, status: 'active', epoch: 1 });
  const CASES: [label: string, before: Person, after: Person | undefined, lasts: boolean][] = [
    ['an admin is demoted', active('admin'), active('editor'), false],
    ['an editor is demoted', active('editor'), active('user'), false],
    ['a user is promoted', active('user'), active('admin'), true],
    ['an editor is promoted', active('editor'), active('admin'), true],
    ['a user is deactivated', active('user'), { ...active('user'), status: 'inactive' }, false],
    ['a user is deleted', active('user'), undefined, false],
  ];
  for (const [index, [label, before, after, lasts]] of CASES.entries()) {
    const owner = `usr_owner${index}`;
    people.set(owner, before);
    const { id } = await make(MACHINE, owner);
    t.equal((await call('PATCH', `/${id}`, { trusted: true }, 'usr_root')).status, 200);
    await call('POST', `/${id}/api-keys`, { name: 'Key', scopes: ['read:data'] }, owner);
    if (after === undefined) people.delete(owner);
    else people.set(owner, after);
    await applications.ownerChanged(owner, 9);
    t.match((await call('GET', `/${id}`, undefined, 'usr_root')).body, { trusted: lasts }, label);
    const epochs = (await revoked(id)).map(({ epoch = 0 }) => epoch);
    t.equal(Math.max(...epochs) > 0, !lasts, label);
    const keys = await call('GET', `/${id}/api-keys`, undefined, 'usr_root');
    t.equal(keys.body.data.length, lasts ? 1 : 0, label);
    if (after?.status === 'active') continue;
    const again = await call('PATCH', `/${id}`, { trusted: true }, 'usr_root');
    t.match(again, { status: 400, body: { error: { details: [{ field: 'trusted' }] } } }, label);
  }
});

t.test('trust that is granted while the owner is demoted does not outlive it', async (t) => {
  for (const [label, grant] of [
    ['create', () => call('POST', '', { ...MACHINE, trusted: true }, 'usr_fast')],
    ['change', async (id: string) => call('PATCH', `/${id}`, { trusted: true }, 'usr_root')],
  ] as const) {
    people.set('usr_fast', { role: 'admin', status: 'active', epoch: 1 });
    const { id } = await make(MACHINE, 'usr_fast');
    // After the owner was looked up, and before the application is trusted.
    api.beforeWrite.next = async () => {
      people.set('usr_fast', { role: 'user', status: 'active', epoch: 2 });
      await applications.ownerChanged('usr_fast', 2);
    };
    const granted = await grant(id);
    t.match(granted.body, { trusted: false }, label);
    const now = await call('GET', `/${granted.body.client_id}`, undefined, 'usr_root');
    t.match(now.body, { trusted: false }, label);
  }
});

t.test('a token of somebody who is no admin any more makes nothing trusted', async (t) => {
  people.set('usr_was', { role: 'admin', status: 'active', epoch: 1 });
  const { id } = await make(MACHINE, 'usr_was');
  for (const body of [undefined, { trusted: true }]) {
    api.beforeBody.next = () => people.set('usr_was', { role: 'user', status: 'active', epoch: 2 });
    const response =
      body === undefined
        ? await call('POST', '', { ...MACHINE, trusted: true }, 'usr_was')
        : await call('PATCH', `/${id}`, body, 'usr_was');
    t.equal(response.status, 403);
    people.set('usr_was', { role: 'admin', status: 'active', epoch: 1 });
  }
});

t.test('whatever makes less of an application ends its tokens', async (t) => {
  const { id } = await make();
  const epoch = async () => (await revoked(id))[0]?.epoch;
  await call('PATCH', `/${id}`, { scopes: ['read:users', 'read:data', 'write:data'] });
  t.equal(await epoch(), 0, 'more is no loss');
  await call('PATCH', `/${id}`, { scopes: ['read:data', 'write:data'] });
  t.equal(await epoch(), 1);
  await call('PATCH', `/${id}`, { trusted: true }, 'usr_root');
  t.equal(await epoch(), 1);
  await call('PATCH', `/${id}`, { trusted: false }, 'usr_root');
  t.equal(await epoch(), 2);
  await call('PATCH', `/${id}`, { dpop_bound_access_tokens: true });
  t.equal(await epoch(), 3);
  const [revocation] = await revoked(id);
  t.ok(Math.abs((revocation?.expiresAt ?? 0) - Date.now() / 1000 - 3600) < 5);
  await applications.ownerChanged('usr_ann', 2);
  t.equal(await epoch(), 4, 'and whatever makes less of its owner');
  await applications.ownerChanged('usr_ann', 2);
  t.equal(await epoch(), 4, 'once, although the event may come again');
  await call('PATCH', `/${id}`, { trusted: true }, 'usr_root');
  await applications.ownerChanged('usr_ann', 3);
  t.equal(await epoch(), 4, 'unless it stands for itself');
});

t.test('an owner of many applications: what was begun is not begun anew', async (t) => {
  const { id } = await make(MACHINE, 'usr_ben');
  const collection = api.connection.collection<{ _id: string }>('applications');
  const one = await collection.findOne({ _id: id });
  const many = Array.from({ length: 400 }, (_, i) => ({ ...one, _id: `${id}_${i}`, slot: 1000 + i }));
  await collection.insertMany(many);
  t.teardown(() => collection.deleteMany({ owner: 'usr_ben' }));
  const owned = { owner: 'usr_ben' };
  // Of the batches of 100, the fourth fails.
  api.fault.after = 3;
  await t.rejects(applications.ownerChanged('usr_ben', 7), /died here/);
  const left = await collection.countDocuments({ ...owned, revocation_due: 1 });
  t.ok(left > 0 && left < 401, `${left} are left`);
  await applications.ownerChanged('usr_ben', 7);
  await applications.ownerChanged('usr_ben', 7);
  t.equal(await collection.countDocuments({ ...owned, revocation_due: 1 }), 0);
  t.equal(await collection.countDocuments({ ...owned, epoch: 1 }), 401, 'once each');
  t.match(await revoked(`${id}_399`), [{ kind: 'client', epoch: 1 }]);
});

t.test('a crash before the revocation is made up for', async (t) => {
  const lost = await make();
  api.fault.after = 0;
  t.equal((await call('PATCH', `/${lost.id}`, { scopes: ['read:data'] })).status, 500);
  t.same(await revoked(lost.id), []);
  await applications.resumeRevocations();
  t.match(await revoked(lost.id), [{ kind: 'client', epoch: 1 }]);

  const { id, secret } = await make();
  const [first] = (await call('GET', `/${id}/secrets`)).body.data;
  api.fault.after = 0;
  t.equal((await call('DELETE', `/${id}/secrets/${first?.id}`)).status, 500);
  t.equal(await applications.checkSecret(id, secret), false);
  await applications.resumeRevocations();
  t.match(await revoked(id), [{ kind: 'client', epoch: 0 }], 'by which other replicas forget the secret');

  const gone = await make();
  api.fault.after = 0;
  t.equal((await call('DELETE', `/${gone.id}`)).status, 500);
  t.equal((await call('GET', `/${gone.id}`)).status, 404, 'nobody gets anything from it');
  await applications.resumeRevocations();
  t.match(await revoked(gone.id), [{ kind: 'client' }]);
  t.same(await api.applicationStore.awaitingRevocation(), []);
});

t.test('secrets: two at a time, so that one is replaced without a gap', async (t) => {
  const { id, secret } = await make();
  const added = await call('POST', `/${id}/secrets`, { expires_in: 3600 });
  t.match(added, { status: 201, body: { id: /^sec_/, client_secret: /^[\w-]{43}$/, created_at: String } });
  t.ok(Math.abs(Date.parse(String(added.body.expires_at)) - Date.now() - 3_600_000) < 5000);
  t.match(await call('POST', `/${id}/secrets`), { status: 409, body: { error: { code: 'conflict' } } });
  for (const text of [secret, String(added.body.client_secret)])
    t.equal(await applications.checkSecret(id, text), true);
  const list = await call('GET', `/${id}/secrets`);
  t.equal(list.body.data.length, 2);
  t.notMatch(JSON.stringify(list.body), /hash|client_secret/);
  const [first] = list.body.data;
  t.equal((await call('DELETE', `/${id}/secrets/${first?.id}`)).status, 204);
  t.equal((await call('DELETE', `/${id}/secrets/${first?.id}`)).status, 404);
  t.equal(await applications.checkSecret(id, secret), false);
  t.equal(await applications.checkSecret(id, String(added.body.client_secret)), true);
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.match((await call('GET', `/${id}/secrets`)).body.data, [{ last_used_at: /^\d{4}-/ }], 'when it was used');
  t.equal((await call('DELETE', `/${id}/secrets/${added.body.id}`)).status, 204, 'the last one, too');
  t.equal(await applications.checkSecret(id, String(added.body.client_secret)), false);
  t.match(first, { label: null, last_four: /^[\w-]{4}$/ });
  t.equal(added.body.last_four, String(added.body.client_secret).slice(-4), 'what tells it from others');
  const labelled = await call('POST', `/${id}/secrets`, { label: 'web-1' });
  t.match(labelled.body, { label: 'web-1', last_four: String(labelled.body.client_secret).slice(-4) });
  t.equal((await call('DELETE', `/${id}/secrets/${labelled.body.id}`)).status, 204);
  for (const label of ['', ' ', 'x'.repeat(201), 'a\u202e'])
    t.match(await call('POST', `/${id}/secrets`, { label }), {
      ...{ status: 400, body: { error: { details: [{ field: 'label' }] } } },
    });
  for (const body of [{ expires_in: 59 }, { expires_in: 1.5 }, { expires_in: '60' }, { expires: 60 }, []])
    t.equal((await call('POST', `/${id}/secrets`, body)).status, 400, JSON.stringify(body));
  t.match((await call('POST', `/${id}/secrets`)).body, { expires_at: null });
});

t.test('a secret that another replica has just added is known at once', async (t) => {
  const { id, secret } = await make();
  t.equal(await applications.checkSecret(id, secret), true, 'it is remembered');
  const elsewhere = { id: 'sec_other', hash: hashSecret('made elsewhere'), created_at: new Date() };
  await api.connection
    .collection<{ _id: string }>('applications')
    .updateOne({ _id: id }, { $push: { secrets: elsewhere } as never });
  t.equal(await applications.checkSecret(id, 'made elsewhere'), true);
});
