import { decodeJwt } from 'jose';
import t from 'tap';
import { build, MACHINE, WEB } from '../../build.ts';
import { heading, signedIn } from '../../pages.ts';
import { refresh, statusesOf, tokensFor } from '../../tokens.ts';

const built = await build(t, { checkResponses: true });
const { call, form, base } = built;
const PATH = '/api/v1/resources';
const [admin, ann] = [await built.login('admin'), await built.login('ann')];
const CALENDAR = {
  identifier: 'https://mcp.example.com/mcp',
  name: 'Calendar of Example',
  scopes: [
    { name: 'calendar:read', description: 'Read your appointments' },
    { name: 'calendar:write', description: 'Make appointments in your name.' },
  ],
};
const register = async (more: object = {}, token = ann) => {
  const { status, body } = await call('POST', PATH, token, { ...CALENDAR, ...more });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body as typeof CALENDAR & { id: string };
};
const calendar = await register();
const files = await register({
  identifier: 'https://files.example.com',
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
  for (const identifier of [
    CALENDAR.identifier,
    'https://MCP.example.com:443/mcp',
    'https://mcp.example.com/a/../mcp',
  ]) {
    t.equal((await call('POST', PATH, admin, { ...CALENDAR, identifier })).status, 409, identifier);
  }
});

t.test('a token for a resource has its audience and scopes, and works nowhere else', async (t) => {
  const visitor = await signedIn(built, 'ann');
  const query = new URLSearchParams({
    ...{ client_id: WEB.client_id, redirect_uri: WEB.redirect_uri, response_type: 'code', state: 's' },
    ...{ scope: 'openid calendar:read calendar:other', resource: CALENDAR.identifier },
  });
  const page = await visitor.get(`/oauth2/authorize?${query}`);
  t.equal(heading(page), 'Allow this application to use your account?');
  t.match(page.html, /At Calendar of Example \(mcp\.example\.com\).*Read your appointments/s);
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
      identifier: 'https://some.example.com',
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
