import { createServer } from 'node:http';
import { listen } from '@gatehouse/testing/listen';
import { decodeJwt } from 'jose';
import t from 'tap';
import { authorizeUrl, build, MACHINE, OTHER, SPA, WEB } from '../../build.ts';
import { heading, signedIn } from '../../pages.ts';
import { pkce, refresh, statusesOf, tokensFor } from '../../tokens.ts';

/** The servers of resources, with their metadata (RFC 9728), and the paths at which it was read. */
const site = { metadata: (_path: string): unknown => undefined, status: 200, reads: [] as string[] };
const server = createServer((request, response) => {
  const path = request.url ?? '';
  site.reads.push(path);
  const body = JSON.stringify(site.metadata(path.replace('/.well-known/oauth-protected-resource', '')));
  response.writeHead(site.status, { 'content-type': 'application/json' }).end(body);
});
const origin = `http://127.0.0.1:${await listen(t, server)}`;
const built = await build(t, { checkResponses: true, config: { resourceNetworks: ['127.0.0.0/8'] } });
const proof = (path: string) => ({ resource: origin + path, authorization_servers: [built.base] });
site.metadata = proof;
const { call, form, base } = built;
const PATH = '/api/v1/resources';
const [admin, ann] = [await built.login('admin'), await built.login('ann')];
const CALENDAR = {
  identifier: `${origin}/mcp`,
  name: 'Calendar of Example',
  scopes: [
    { name: 'calendar:read', description: 'Read your appointments' },
    { name: 'calendar:write', description: 'Make appointments in your name.' },
  ],
};
const register = async (more: object = {}, token = ann) => {
  const { status, body } = await call('POST', PATH, token, { ...CALENDAR, ...more });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body as typeof CALENDAR & { id: string; verified_at: string | null };
};
const calendar = await register();
const files = await register({
  identifier: origin,
  name: 'Files',
  scopes: [{ name: 'files', description: 'Read your files' }],
});

t.test('a URL on the own host cannot be registered, by whichever name and scheme', async (t) => {
  const { port } = new URL(base);
  for (const identifier of [
    ...[base, `${base}/api`, `http://127.0.0.1:${port}/api`, `http://localhost:${port}/mcp`],
    ...[`http://[::1]:${port}/`, `https://localhost:${port}/api`],
  ]) {
    const { status, body } = await call('POST', PATH, ann, { ...CALENDAR, identifier });
    t.match([status, JSON.stringify(body)], [400, /must not be on the host of this deployment/], identifier);
  }
  const scopes = [{ name: 'manage:apps', description: 'Manage applications' }];
  const identifier = 'https://scopes.example.com/';
  t.equal((await call('POST', PATH, ann, { ...CALENDAR, identifier, scopes })).status, 400);
});

t.test('people manage their own resources, and admins all', async (t) => {
  const other = await register({ identifier: 'https://admin.example.com/api' }, admin);
  const ids = async (token: string) =>
    ((await call('GET', PATH, token)).body.data as { id: string }[]).map(({ id }) => id);
  t.strictSame(await ids(ann), [files.id, calendar.id]);
  t.strictSame(await ids(admin), [other.id, files.id, calendar.id]);
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const { status } = await call(
      method,
      `${PATH}/${other.id}`,
      ann,
      method === 'PATCH' ? { name: 'Mine' } : undefined,
    );
    t.equal(status, 404, method);
  }
  t.match((await call('PATCH', `${PATH}/${other.id}`, admin, { name: 'Ours' })).body, { name: 'Ours' });
  t.equal((await call('DELETE', `${PATH}/${other.id}`, admin)).status, 204);
  t.equal((await call('GET', `${PATH}/${other.id}`, admin)).status, 404);
  t.equal(
    (await call('GET', PATH, (await tokensFor(built)).access_token)).status,
    403,
    'no application manages them',
  );
  t.equal((await call('GET', PATH)).status, 401);
});

t.test('what is wrong is refused at its field, and a URL belongs to one resource', async (t) => {
  for (const [more, field] of [
    [{ identifier: 'calendar' }, 'identifier'],
    [{ identifier: 'http://mcp.example.com' }, 'identifier'],
    [{ identifier: 'https://mcp.example.com/?a=b' }, 'identifier'],
    [{ identifier: 'https://mcp.example.com/#a' }, 'identifier'],
    [{ identifier: 'https://me:secret@mcp.example.com/' }, 'identifier'],
    [{ identifier: 'https://mcp.example.com/a\u202eb' }, 'identifier'],
    [{ identifier: 'https://mcp.example.com/a b' }, 'identifier'],
    [{ identifier: ' https://mcp.example.com/' }, 'identifier'],
    [{ identifier: 'https://mcp.example.com/a\u200bb' }, 'identifier'],
    [{ identifier: 'https://mcp.exa\u00admple.com/' }, 'identifier'],
    [{ identifier: 'https://mcp.example.com\\mcp' }, 'identifier'],
    [{ identifier: 'https://MCP.example.com:443/mcp' }, 'identifier'],
    [{ identifier: 'https://mcp.example.com/a/../mcp' }, 'identifier'],
    [{ identifier: 'https://bücher.example/' }, 'identifier'],
    [{ identifier: `${base}/api` }, 'identifier'],
    [{ identifier: `${base}/internal/users` }, 'identifier'],
    [{ name: '\u202e' }, 'name'],
    [{ scopes: [] }, 'scopes'],
    [{ scopes: [{ name: 'read:data', description: 'Read' }] }, 'scopes.0.name'],
    [{ scopes: [{ name: 'offline_access', description: 'Read' }] }, 'scopes.0.name'],
    [{ scopes: [{ name: 'a b', description: 'Read' }] }, 'scopes.0.name'],
    [{ scopes: [{ name: 'a', description: 'Read \u202etxt' }] }, 'scopes.0.description'],
    [{ scopes: [CALENDAR.scopes[0], CALENDAR.scopes[0]] }, 'scopes'],
    [{ owner: built.people.admin.id }, 'owner'],
  ] as const) {
    const { status, body } = await call('POST', PATH, ann, {
      ...CALENDAR,
      identifier: 'https://new.example.com',
      ...more,
    });
    t.match([status, body.error], [400, { details: [{ field }] }], JSON.stringify(more));
  }
  for (const identifier of [CALENDAR.identifier, `${origin}/`]) {
    t.equal((await call('POST', PATH, admin, { ...CALENDAR, identifier })).status, 409, identifier);
  }
  const { body } = await call('POST', PATH, ann, {
    ...CALENDAR,
    identifier: 'https://MCP.example.com/a/../b',
  });
  t.match(JSON.stringify(body), /must be in its normal form, https:\/\/mcp\.example\.com\/b/);
});

t.test('a token for a resource has its audience and scopes, and works nowhere else', async (t) => {
  const visitor = await signedIn(built, 'ann');
  const query = new URLSearchParams({
    ...{ client_id: WEB.client_id, redirect_uri: WEB.redirect_uri, response_type: 'code', state: 's' },
    ...{ scope: 'openid calendar:read calendar:other', resource: CALENDAR.identifier },
  });
  const page = await visitor.get(`/oauth2/authorize?${query}`);
  t.equal(heading(page), 'Allow this application to use your account?');
  t.match(page.html, /At Calendar of Example \(127\.0\.0\.1:\d+\).*Read your appointments/s);
  t.notMatch(
    page.html,
    /Make appointments|calendar:other/,
    'nothing that was not asked for, or does not exist',
  );

  const {
    access_token: token,
    refresh_token,
    scope,
  } = await tokensFor(built, {
    more: { scope: 'openid calendar:read', resource: CALENDAR.identifier },
  });
  t.equal(scope, 'calendar:read');
  const claims = decodeJwt(token);
  t.match(claims, { aud: CALENDAR.identifier, scope: 'calendar:read', sub: built.people.ann.id });
  t.strictSame([claims.roles, claims.profiles], [undefined, undefined], 'nothing of our own API');
  t.strictSame(await statusesOf(built, token), [401, 401], 'our services do not accept it');
  t.equal((await call('GET', '/userinfo', token)).status, 401);
  const { body } = await refresh(built, refresh_token);
  t.match(decodeJwt(String(body.access_token)), { aud: CALENDAR.identifier });
  const toApi = await refresh(built, refresh_token, WEB, { resource: `${base}/api` });
  t.match([toApi.status, toApi.body.error], [400, 'invalid_target'], 'nor does its refresh token lead there');
});

t.test('of several resources, each gets a token of its own', async (t) => {
  const [first, second] = [calendar.identifier, files.identifier];
  const visitor = await signedIn(built, 'ann');
  const query = `client_id=${WEB.client_id}&redirect_uri=${encodeURIComponent(WEB.redirect_uri)}&response_type=code`;
  const scope = 'scope=calendar:read%20files';
  const both = [first, second].map((it) => `resource=${encodeURIComponent(it)}`).join('&');
  let page = await visitor.get(`/oauth2/authorize?${query}&${scope}&${both}`);
  t.match(page.html, /Read your appointments.*Read your files/s);
  page = await visitor.submit(page, { decision: 'allow' });
  const code = page.url.searchParams.get('code') ?? '';
  const exchange = { grant_type: 'authorization_code', code, ...WEB };
  const tokens = (await form({ ...exchange, resource: first })).body as {
    access_token: string;
    refresh_token: string;
  };
  t.match(decodeJwt(tokens.access_token), { aud: first, scope: 'calendar:read' });
  const { body } = await refresh(built, tokens.refresh_token, WEB, { resource: second });
  t.match(decodeJwt(String(body.access_token)), { aud: second, scope: 'files' });
  const neither = await refresh(built, tokens.refresh_token, WEB, { resource: 'https://new.example.com' });
  t.match([neither.status, neither.body.error], [400, 'invalid_target']);
});

t.test(
  'an application asks only for resources that are for it, and gets their scopes by default',
  async (t) => {
    const { identifier, id } = await register({
      identifier: `${origin}/some`,
      applications: [MACHINE.client_id],
    });
    const page = await built
      .browser()
      .get(
        `/oauth2/authorize?${new URLSearchParams({ client_id: WEB.client_id, redirect_uri: WEB.redirect_uri, response_type: 'code', resource: identifier })}`,
      );
    t.equal(page.url.searchParams.get('error'), 'invalid_target');
    const credentials = { grant_type: 'client_credentials', ...MACHINE, resource: identifier };
    const { body } = await form(credentials);
    t.match(decodeJwt(String(body.access_token)), { aud: identifier, scope: 'calendar:read calendar:write' });
    t.match((await form({ ...credentials, scope: 'read:users' })).body, { error: 'invalid_scope' });
    await call('PATCH', `${PATH}/${id}`, ann, { scopes: [CALENDAR.scopes[0]] });
    t.match(decodeJwt(String((await form(credentials)).body.access_token)), { scope: 'calendar:read' });
    await call('DELETE', `${PATH}/${id}`, ann);
    t.match((await form(credentials)).body, { error: 'invalid_target' });
    const { scope } = await tokensFor(built, { more: { scope: '', resource: calendar.identifier } });
    t.equal(scope, 'calendar:read calendar:write', 'a request without scope');
  },
);

t.test('the error for a resource names it, and does not tell whether it is registered', async (t) => {
  const paths = ['listed', 'unverified', 'unregistered'].map((name) => `/${name}-for-errors`);
  const [listed = '', unverified = ''] = paths;
  site.metadata = (path) => (path === unverified ? {} : proof(path));
  await register({ identifier: origin + listed, applications: [MACHINE.client_id] });
  await register({ identifier: origin + unverified });
  const errorFor = async (resource: string) =>
    (await built.browser().get(authorizeUrl({ resource }))).url.searchParams.get('error_description') ?? '';
  const errors = await Promise.all(paths.map((path) => errorFor(origin + path)));
  site.metadata = proof;
  const expected = `this application gets no tokens for ${origin}/…: the owner of this API has to register it, list the application there, or serve metadata that names this issuer`;
  t.strictSame(
    errors,
    paths.map((path) => expected.replace('/…', path)),
  );
  for (const [strange, shown] of [
    ['https://strange.example/a b"c\\d?e="\\', 'https://strange.example/a%20b%22c/d?e=%22%5C:'],
    ['urn:a "b"\\', 'urn:a%20%22b%22%5C:'],
    [`https://strange.example/${'x'.repeat(1000)}`, `https://strange.example/${'x'.repeat(476)}:`],
  ] as const) {
    t.match(await errorFor(strange), ` for ${shown} the owner`, 'in the characters of RFC 6749 §4.1.2.1');
  }
});

t.test('whoever registered a resource introspects its tokens, and learns of revocations', async (t) => {
  const introspecting = async (token: string, name: string) => {
    const client = await built.createApplication(token, { name, type: 'resource', scopes: [] });
    return async (of: string) => (await form({ token: of, ...client }, {}, '/oauth2/introspect')).body;
  };
  const [own, others] = [await introspecting(ann, 'Calendar'), await introspecting(admin, 'Others')];
  const visitor = built.browser();
  const { access_token } = await tokensFor(built, {
    browser: visitor,
    more: { scope: 'calendar:read', resource: calendar.identifier },
  });
  t.match(await own(access_token), {
    active: true,
    aud: calendar.identifier,
    scope: 'calendar:read',
    sub: built.people.ann.id,
  });
  t.strictSame(await others(access_token), { active: false });
  t.strictSame(
    (await form({ token: access_token, ...WEB }, {}, '/oauth2/introspect')).body.active,
    true,
    'its own client',
  );
  const page = await visitor.get('/account/applications');
  t.match(page.html, /At Calendar of Example .*Read your appointments/s);
  await visitor.submit(page, {}, `value="${WEB.client_id}"`);
  t.strictSame(await own(access_token), { active: false });
});

t.test('a consent to the scopes of a resource ends when they mean something else', async (t) => {
  const [read, write] = [
    { name: 'notes:read', description: 'Read one note' },
    { name: 'notes:write', description: 'Write a note' },
  ];
  const everything = { ...read, description: 'Delete everything' };
  const again = async (at: string, body: object, token: string) => {
    t.equal((await call('DELETE', at, ann)).status, 204);
    await register(body, token);
  };
  for (const [name, event, isKept] of [
    ['unchanged', async () => undefined, true],
    ['another name', (at: string) => call('PATCH', at, ann, { name: 'Notebook' }), true],
    ['another scope', (at: string) => call('PATCH', at, ann, { scopes: [write, read] }), true],
    ['redefined', (at: string) => call('PATCH', at, ann, { scopes: [everything, write] }), false],
    ['registered again', (at: string, of: object) => again(at, of, ann), false],
    ['registered by somebody else', (at: string, of: object) => again(at, of, admin), false],
  ] as const) {
    const draft = { identifier: `${origin}/${name.replaceAll(' ', '-')}`, name: 'Notes', scopes: [read] };
    const at = `${PATH}/${(await register(draft)).id}`;
    const more = { scope: 'openid notes:read', resource: draft.identifier };
    const visitor = built.browser();
    const tokens = await tokensFor(built, { browser: visitor, client: SPA, more });
    const { code_verifier, challenge } = pkce();
    const silently = () =>
      visitor
        .get(authorizeUrl({ ...SPA, ...more, ...challenge, prompt: 'none' }))
        .then(({ url }) => url.searchParams);
    const pending = String((await silently()).get('code'));
    await event(at, draft);
    t.equal((await silently()).get('error'), isKept ? null : 'consent_required', name);
    const exchanged = await form({ grant_type: 'authorization_code', code: pending, code_verifier, ...SPA });
    t.match(
      [exchanged.status, exchanged.body.error],
      isKept ? [200] : [400, 'invalid_grant'],
      `${name}: a code`,
    );
    const refreshed = await refresh(built, tokens.refresh_token, SPA);
    t.match([refreshed.status, refreshed.body.error], isKept ? [200] : [400, 'invalid_grant'], name);
    if (name !== 'redefined') continue;
    const page = await visitor.get(authorizeUrl({ ...SPA, ...more, ...challenge }));
    t.match(page.html, /Delete everything/);
    await call('PATCH', at, ann, { scopes: [{ ...read, description: 'Delete more than that' }] });
    const shown = await visitor.submit(page, { decision: 'allow' });
    t.match(shown.html, /Delete more than that/, 'what was not shown is not allowed');
    t.ok((await visitor.submit(shown, { decision: 'allow' })).url.searchParams.has('code'));
    t.ok((await silently()).has('code'));
    await call('PATCH', at, ann, { scopes: [read] });
    t.equal(
      (await refresh(built, tokens.refresh_token, SPA)).status,
      200,
      'the refresh token was not used up',
    );
  }
});

t.test('machines get tokens where they are listed, and those of the owner of a resource', async (t) => {
  const own = await built.createApplication(ann, { name: 'Own', type: 'machine', scopes: ['read:data'] });
  const path = `/api/v1/applications/${own.client_id}`;
  await built.createPerson('dev');
  const dev = await built.login('dev');
  await call('POST', `${path}/members`, ann, { user: 'dev', role: 'developer' });
  await call('POST', `/api/v1/memberships/${own.client_id}/accept`, dev);
  const made = (await call('POST', `${path}/secrets`, dev, { label: 'of a member' })).body;
  const ofMember = { client_id: own.client_id, client_secret: String(made.client_secret) };
  for (const [applications, allowed] of [
    [null, [own]],
    [[MACHINE.client_id], [MACHINE]],
    [
      [MACHINE.client_id, own.client_id],
      [MACHINE, own, ofMember],
    ],
    [[], []],
  ] as const) {
    const name = JSON.stringify(applications?.length ?? null);
    const { identifier } = await register({ identifier: `${origin}/machines/${name}`, applications });
    for (const machine of [own, MACHINE, OTHER, ofMember]) {
      const credentials = { client_id: machine.client_id, client_secret: machine.client_secret };
      const { status, body } = await form({
        grant_type: 'client_credentials',
        ...credentials,
        resource: identifier,
      });
      const expected = allowed.some((it) => it === machine) ? [200] : [400, 'invalid_target'];
      t.match([status, body.error], expected, `${name} ${machine.client_id} ${machine === ofMember}`);
    }
  }
  const listed = { identifier: `${origin}/machines/later`, applications: [own.client_id] };
  const { id, identifier } = await register(listed);
  const { body } = await form({ grant_type: 'client_credentials', ...ofMember, resource: identifier });
  const token = String(body.access_token);
  t.ok(decodeJwt(token).given_by, 'the API can tell whose credential it was');
  const api = await built.createApplication(ann, { name: 'API', type: 'resource', scopes: [] });
  const isActive = async () => (await form({ token, ...api }, {}, '/oauth2/introspect')).body.active;
  t.equal(await isActive(), true);
  await call('PATCH', `${PATH}/${id}`, ann, { applications: null });
  t.equal(await isActive(), false, 'no longer listed');
});

const EVENTS = {
  'all access is revoked': (id: string) => call('POST', `/api/v1/users/${id}/revocations`, admin, {}),
  async 'the account is deactivated, and activated again'(id: string) {
    await call('PUT', `/v2/users/${id}/status`, admin, { status: 'inactive' });
    return call('PUT', `/v2/users/${id}/status`, admin, { status: 'active' });
  },
  'the role is lowered': (id: string) => call('PUT', `/v2/users/${id}/role`, admin, { role: 'user' }),
} as const;
for (const [event, happen] of Object.entries(EVENTS)) {
  t.test(`the applications of others are no longer listed by somebody of whom ${event}`, async (t) => {
    const name = `lister${Object.keys(EVENTS).indexOf(event as keyof typeof EVENTS)}`;
    const id = await built.createPerson(name);
    await call('PUT', `/v2/users/${id}/role`, admin, { role: 'admin' });
    const lister = await built.login(name);
    const isOfAdmin = event === 'the role is lowered';
    const identifier = `${origin}/${name}`;
    const own = await built.createApplication(lister, {
      name: 'Own',
      type: 'machine',
      scopes: ['read:data'],
    });
    const draft = { identifier, applications: isOfAdmin ? null : [MACHINE.client_id, own.client_id] };
    const { id: resource } = await register(draft, isOfAdmin ? ann : lister);
    if (isOfAdmin) await call('PATCH', `${PATH}/${resource}`, lister, { applications: [MACHINE.client_id] });
    const { client_id, client_secret } = MACHINE;
    const request = { grant_type: 'client_credentials', client_id, client_secret, resource: identifier };
    t.equal((await form(request)).status, 200);
    t.ok((await happen(id)).status < 300);
    t.match((await form(request)).body, { error: 'invalid_target' });
    t.same(
      (await call('GET', `${PATH}/${resource}`, admin)).body.applications,
      isOfAdmin ? [] : [own.client_id],
    );
    await call('PATCH', `${PATH}/${resource}`, admin, { applications: [MACHINE.client_id] });
    t.equal((await form(request)).status, 200, 'listed again');
  });
}

t.test('a URL is proved by its metadata before the applications of others get tokens for it', async (t) => {
  for (const [name, metadata, problem, status = 200] of [
    ['missing', {}, /could not be read/, 404],
    ['redirect', proof('/redirect'), /could not be read/, 302],
    ['large', { ...proof('/large'), padding: 'x'.repeat(70_000) }, /could not be read/],
    ['none', undefined, /could not be read/],
    ['null', null, /“resource” in the metadata at .* must be the identifier/],
    ['other', proof('/elsewhere'), /“resource” in the metadata at .* must be the identifier/],
    ['lonely', { resource: `${origin}/lonely` }, /“authorization_servers” .* must contain http/],
    [
      'foreign',
      { ...proof('/foreign'), authorization_servers: ['https://issuer.example'] },
      /“authorization_servers”/,
    ],
    ['right', proof('/right'), undefined],
    [
      'several',
      { ...proof('/several'), authorization_servers: ['https://a.example', `${base}/`] },
      undefined,
    ],
  ] as const) {
    Object.assign(site, { metadata: () => metadata, status });
    const made = await register({ identifier: `${origin}/${name}` });
    t.equal(made.verified_at === null, problem !== undefined, `${name} at its registration`);
    const { status: of, body } = await call('POST', `${PATH}/${made.id}/verify`, ann);
    t.equal(of, problem === undefined ? 200 : 409, name);
    t.match(JSON.stringify(body), problem ?? /"verified_at":"20/, name);
    t.notMatch(JSON.stringify(body), /status|ECONN|\d{3} /, 'without details of the connection');
  }
  t.ok(site.reads.includes('/.well-known/oauth-protected-resource/missing'));
  t.ok(site.reads.includes('/.well-known/oauth-protected-resource'), 'a URL without a path');
  const unknown = await call('POST', `${PATH}/rsr_unknown/verify`, ann);
  t.equal(unknown.status, 404);
});

t.test('a resource is replaced by that of the person whom the metadata names', async (t) => {
  const owners: Record<string, string> = {};
  const named = (path: string) => ({ ...proof(path), gatehouse_owner: owners[path] });
  Object.assign(site, { metadata: named, status: 200 });
  const [annId, adminId] = [built.people.ann.id, built.people.admin.id];
  for (const [name, owner, expected] of [
    ['names-nobody', undefined, [409, /is registered already/]],
    ['names-the-first', annId, [409, new RegExp(`must be ${adminId}`)]],
    ['names-a-third', 'usr_other', [409, new RegExp(`must be ${adminId}`)]],
    ['names-the-second', adminId, [201, /"verified_at":"20/]],
  ] as const) {
    const identifier = `${origin}/${name}`;
    const first = await register({ identifier });
    Object.assign(owners, { [`/${name}`]: owner });
    const second = await call('POST', PATH, admin, { ...CALENDAR, identifier });
    t.match([second.status, JSON.stringify(second.body)], expected, name);
    const isReplaced = second.status === 201;
    t.equal((await call('GET', `${PATH}/${first.id}`, ann)).status, isReplaced ? 404 : 200, name);
    const back = await call('POST', PATH, ann, { ...CALENDAR, identifier });
    t.equal(back.status, 409, `${name}: the first owner has it, or cannot take it back`);
  }
  const own = await built.createApplication(ann, { name: 'Own', type: 'machine', scopes: ['read:data'] });
  const request = { grant_type: 'client_credentials', ...own, resource: `${origin}/names-the-second` };
  t.match((await form(request)).body, { error: 'invalid_target' }, 'nor do their applications get tokens');
  const { body: log } = await call('GET', '/api/v1/audit?filter[action]=resource.deleted', admin);
  t.match((log.data as object[])[0], { actor: adminId, details: { owner: annId } });

  const claimed = await register({ identifier: `${origin}/claimed` });
  Object.assign(owners, { '/claimed': adminId });
  const claim = await call('POST', `${PATH}/${claimed.id}/verify`, ann);
  t.match([claim.status, JSON.stringify(claim.body)], [409, new RegExp(`must be ${annId}`)]);
});

t.test('a server that starts after its registration is verified by the first request for it', async (t) => {
  Object.assign(site, { metadata: proof, status: 503 });
  const late = await register({ identifier: `${origin}/late` });
  const never = await register({ identifier: `${origin}/never` });
  t.match([late.verified_at, never.verified_at], [null, null]);
  const ask = async (resource: string) =>
    (await built.browser().get(authorizeUrl({ scope: 'calendar:read', resource }))).url;
  const readsOf = (name: string) => site.reads.filter((path) => path.endsWith(name)).length;
  for (let i = 0; i < 3; i += 1) {
    t.equal((await ask(never.identifier)).searchParams.get('error'), 'invalid_target');
  }
  t.equal(readsOf('/never'), 2, 'at its registration, and once in a minute');
  const own = await built.createApplication(ann, { name: 'Own', type: 'machine', scopes: ['read:data'] });
  const request = { grant_type: 'client_credentials', ...own, resource: never.identifier };
  t.equal((await form(request)).status, 200, 'the applications of its owner need no proof');
  Object.assign(site, { status: 200 });
  t.match((await ask(late.identifier)).pathname, /^\/sign-in\//);
  const seen = readsOf('/late');
  t.match((await call('GET', `${PATH}/${late.id}`, ann)).body, { verified_at: /^20/ });
  const scopes = [...CALENDAR.scopes].reverse();
  Object.assign(site, { status: 503 });
  t.match((await call('PATCH', `${PATH}/${late.id}`, ann, { name: 'Late' })).body, { verified_at: /^20/ });
  t.match((await call('PATCH', `${PATH}/${late.id}`, ann, { scopes })).body, { verified_at: null });
  t.equal(readsOf('/late'), seen + 1, 'a change of its scopes takes a new proof, and a name does not');
});
