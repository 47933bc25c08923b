import { createServer } from 'node:http';
import { listen } from '@gatehouse/testing/listen';
import { until } from '@gatehouse/testing/processes';
import { createVerifier } from '@gatehouse/verify/verifier';
import { decodeJwt } from 'jose';
import * as openid from 'openid-client';
import t from 'tap';
import { dpopKey, type JsonResponse, signerOf } from '../../tokens.ts';
import { ACCESS_TOKEN, type Client, EXCHANGE, setUpExchange } from './exchange-set-up.ts';

const masterKey = Buffer.alloc(32, 7);
/** The server of an API of another owner, which it proves by its metadata (RFC 9728). */
const server = createServer(({ url = '' }, response) => {
  const resource = origin + url.replace('/.well-known/oauth-protected-resource', '');
  const body = JSON.stringify({ resource, authorization_servers: [base] });
  response.writeHead(200, { 'content-type': 'application/json' }).end(body);
});
const origin = `http://127.0.0.1:${await listen(t, server)}`;
const set = await setUpExchange(t, {
  masterKey,
  checkResponses: true,
  config: { resourceNetworks: ['127.0.0.0/8'] },
});
const { built, logins, paula, api, calendar, files, web, agent, tokens, exchange, exchanged } = set;
const { base, call, form } = built;
const caller = await agent();
const { access_token: subject, refresh_token, id_token } = await tokens();
const sign = await signerOf(await built.database(), { masterKey, issuer: base });
const DPOP = `${base}/oauth2/token`;

t.test('attacks', async (t) => {
  const ofApi = await tokens({ scope: 'openid read:users', resource: api });
  const { gid, epoch } = decodeJwt(subject);
  const draft = {
    subject: paula,
    clientId: web.client_id,
    audience: calendar,
    scope: 'calendar:read',
    lifetime: 60,
  };
  const signed = async (more: object = {}, claims: object = {}) =>
    (await sign({ ...draft, ...more, claims: { gid, epoch, ...claims } })).token;
  const act = (...actors: string[]) =>
    actors.reduceRight<object | undefined>((it, sub) => ({ sub, ...(it && { act: it }) }), undefined);
  const others = await Promise.all([agent(), agent(), agent(), agent()]);
  const names = others.map((it) => it.client_id);
  const machine = await built.createApplication(logins.ann, {
    name: 'M',
    type: 'machine',
    scopes: ['read:users'],
  });
  const ofMachine = await form({ grant_type: 'client_credentials', ...machine, resource: calendar });
  const elsewhere = await agent({ token_exchange: [] }, logins.admin);
  const token_exchange = [
    { resource: calendar, scopes: [] },
    { resource: api, scopes: ['read:users'] },
  ];
  // The API refuses these rules, which may be older than the API.
  await (await built.database())
    .collection('applications')
    .updateOne({ _id: elsewhere.client_id as never }, { $set: { token_exchange } });
  const unnamed = await agent({ token_exchange: [{ resource: files, scopes: ['files:read'] }] });
  const key = await dpopKey();
  const bound = await tokens({ headers: { dpop: await key.proof('POST', DPOP) } });
  const invalid = (error: string) => (it: JsonResponse) =>
    [it.status, it.body.error].join() === `400,${error}`;
  const attacks: Record<string, [error: string, request: () => Promise<JsonResponse>]> = {
    'a wider scope': ['invalid_scope', () => exchange(subject, caller, { scope: 'calendar:write' })],
    'a scope that the rule does not have': [
      'invalid_scope',
      () => exchange(subject, caller, { resource: api, scope: 'write:users' }),
    ],
    'a scope that the application does not have': [
      'invalid_scope',
      () => exchange(subject, caller, { resource: api, scope: 'read:data' }),
    ],
    'an API outside the policy': [
      'invalid_target',
      () => exchange(subject, caller, { resource: 'https://mail.example.com/api' }),
    ],
    'no URL': ['invalid_target', () => exchange(subject, caller, { audience: 'files' })],
    'two APIs': ['invalid_target', () => exchange(subject, caller, { resource: files, audience: api })],
    'a token of our API': ['invalid_grant', () => exchange(ofApi.access_token, caller, { resource: files })],
    'the token of a login': ['invalid_grant', () => exchange(logins.ann, caller, { resource: files })],
    'an API that the policy does not name': [
      'invalid_grant',
      () => exchange(subject, unnamed, { resource: files }),
    ],
    'an API of another owner': ['invalid_grant', () => exchange(subject, elsewhere, { resource: api })],
    'a token of a machine': ['invalid_grant', () => exchange(String(ofMachine.body.access_token), caller)],
    'a refresh token': ['invalid_grant', () => exchange(refresh_token, caller)],
    'an ID token': ['invalid_grant', () => exchange(id_token, caller)],
    'an expired token': ['invalid_grant', async () => exchange(await signed({ lifetime: 0 }), caller)],
    'another person': [
      'invalid_grant',
      async () => exchange(await signed({ subject: built.people.ann.id }), caller),
    ],
    nobody: ['invalid_grant', async () => exchange(await signed({ subject: 'usr_nobody' }), caller)],
    'a token from before the API was registered': [
      'invalid_grant',
      async () => exchange(await signed({ scope: 'calendar:all' }), caller),
    ],
    'a circle': [
      'invalid_grant',
      async () =>
        exchange(
          await signed({ clientId: names[0] }, { act: act(String(names[0]), caller.client_id) }),
          caller,
        ),
    ],
    itself: ['invalid_grant', async () => exchange(await exchanged(subject, caller), caller)],
    'a fifth actor': [
      'invalid_grant',
      async () => exchange(await signed({ clientId: names[0] }, { act: act(...names) }), caller),
    ],
    'an actor token': [
      'invalid_request',
      () => exchange(subject, caller, { actor_token: subject, actor_token_type: ACCESS_TOKEN }),
    ],
    'another type of token': [
      'invalid_request',
      () => exchange(subject, caller, { requested_token_type: ACCESS_TOKEN.replace('access', 'refresh') }),
    ],
    'an unknown type of token': [
      'invalid_request',
      () => exchange(subject, caller, { subject_token_type: 'jwt' }),
    ],
    'no policy': ['unauthorized_client', () => exchange(subject, machine)],
    'a bound token without a proof': ['invalid_grant', () => exchange(bound.access_token, caller)],
  };
  for (const [name, [error, request]] of Object.entries(attacks)) {
    const response = await request();
    t.ok(invalid(error)(response), `${name}: ${response.status} ${response.body.error}`);
  }
  t.equal(
    (await exchange(await signed({ clientId: names[0] }, { act: act(...names.slice(1)) }), caller)).status,
    200,
    'a fourth actor',
  );
  t.equal((await exchange(subject, { ...caller, client_secret: 'guessed' })).status, 401);
});

t.test('a token never outlives the one that was exchanged', async (t) => {
  const { gid, epoch } = decodeJwt(subject);
  const { token } = await sign({
    ...{ subject: paula, clientId: web.client_id, audience: calendar, scope: 'calendar:read', lifetime: 5 },
    claims: { gid, epoch },
  });
  const later = await exchanged(token, caller, { resource: api });
  t.ok(Number(decodeJwt(later).exp) <= Number(decodeJwt(token).exp));
});

t.test('bound to a key', async (t) => {
  const key = await dpopKey();
  const proof = await key.proof('POST', DPOP);
  const { status, body } = await exchange(subject, caller, { resource: api }, { dpop: proof });
  t.match([status, body.token_type], [200, 'DPoP']);
  t.match(decodeJwt(String(body.access_token)), { cnf: { jkt: key.thumbprint } });
  t.equal((await exchange(subject, caller, { resource: api }, { dpop: proof })).status, 400, 'a replay');
  const strict = await agent({ dpop_bound_access_tokens: true });
  t.equal((await exchange(subject, strict, { resource: api })).status, 400, 'without a proof');
});

t.test('a token ends within a second with what it rests on', async (t) => {
  const server = await built.createApplication(logins.ann, { name: 'Files', type: 'resource', scopes: [] });
  const verifier = createVerifier({
    issuer: base,
    audience: files,
    clientId: server.client_id,
    clientSecret: server.client_secret,
  });
  t.teardown(() => verifier.close());
  const isForeign = (token: string) =>
    verifier.verify(new Request(files, { headers: { authorization: `Bearer ${token}` } })).then(
      () => true,
      () => false,
    );
  const isOurs = async (token: string) => (await call('GET', `/v1/users/${paula}`, token)).status === 200;
  type Case = { token: string; refresh: string; first: Client; client: typeof web };
  const remove = (client: Client) => call('DELETE', `/api/v1/applications/${client.client_id}`, logins.ann);
  const events: Record<string, (it: Case) => Promise<unknown>> = {
    'the token is revoked': ({ token, client }) =>
      form({ token, client_id: client.client_id, client_secret: client.client_secret }, {}, '/oauth2/revoke'),
    'the grant is ended': ({ refresh, client }) =>
      form(
        { token: refresh, client_id: client.client_id, client_secret: client.client_secret },
        {},
        '/oauth2/revoke',
      ),
    'an actor is deleted': ({ first }) => remove(first),
    'a policy shrinks': ({ first }) =>
      call('PATCH', `/api/v1/applications/${first.client_id}`, logins.ann, { token_exchange: [] }),
    'the scopes of the client shrink': ({ client }) =>
      call('PATCH', `/api/v1/applications/${client.client_id}`, logins.ann, { scopes: ['openid'] }),
    'the client is deleted': ({ client }) => remove(client),
    'the sessions of the person end': () => call('DELETE', `/api/v1/sessions?user_id=${paula}`, logins.admin),
    'all access of the person is revoked': () =>
      call('POST', `/api/v1/users/${paula}/revocations`, logins.admin, {}),
  };
  for (const [name, event] of Object.entries(events)) {
    const client = {
      ...(await built.createApplication(logins.ann, {
        name,
        type: 'web',
        scopes: ['openid', 'read:users'],
        redirect_uris: [web.redirect_uri],
      })),
      redirect_uri: web.redirect_uri,
    };
    const [first, second] = [await agent(), await agent()];
    const { access_token: token, refresh_token: refresh } = await tokens({ client });
    const direct = await exchanged(token, first, { resource: files });
    const chained = await exchanged(direct, second, { resource: files });
    const atOurs = [
      await exchanged(token, first, { resource: api }),
      await exchanged(direct, second, { resource: api }),
    ];
    const alive = async () => [
      ...(await Promise.all([direct, chained].map(isForeign))),
      ...(await Promise.all(atOurs.map(isOurs))),
    ];
    t.same(await alive(), [true, true, true, true], `${name}: before`);
    const { status } = (await event({ token, refresh, first, client })) as JsonResponse;
    t.ok(status < 300, `${name}: ${status}`);
    const begun = performance.now();
    await until(async () => !(await alive()).includes(true), 5000).catch(() => {});
    const ms = performance.now() - begun;
    t.same(await alive(), [false, false, false, false], name);
    t.ok(ms < 1000, `${name}: ${Math.round(ms)} ms`);
    t.equal((await exchange(direct, second, { resource: api })).status, 400, `${name}: exchanged afterwards`);
  }
});

t.test('openid-client', async (t) => {
  const { client_id, client_secret } = caller;
  const config = await openid.discovery(new URL(base), client_id, client_secret, undefined, {
    execute: [openid.allowInsecureRequests],
  });
  t.ok(config.serverMetadata().grant_types_supported?.includes(EXCHANGE));
  const { access_token } = await tokens();
  const result = await openid.genericGrantRequest(config, EXCHANGE, {
    ...{ subject_token: access_token, subject_token_type: ACCESS_TOKEN, resource: api },
  });
  t.match(result, { token_type: 'bearer', issued_token_type: ACCESS_TOKEN, scope: 'read:users' });
});

t.test('an application that acts for an admin makes nothing that outlives its token', async (t) => {
  const everything = ['read:users', 'write:users', 'read:data', 'write:data'];
  const by = logins.admin;
  const identifier = await set.register('admin', by);
  const policy = [
    { resource: identifier, scopes: [] },
    { resource: api, scopes: everything },
  ];
  const ofAdmin = await agent({ scopes: everything, token_exchange: policy }, by);
  const { redirect_uri } = web;
  const draft = { name: 'Web', type: 'web', scopes: ['openid'], redirect_uris: [redirect_uri] };
  const client = { ...(await built.createApplication(by, draft)), redirect_uri };
  const asked = { client, username: 'admin', scope: 'openid admin:read', resource: identifier };
  const token = await exchanged((await tokens(asked)).access_token, ofAdmin, { resource: api });
  t.match(decodeJwt(token), { roles: ['admin'], scope: everything.join(' ') });
  let count = 0;
  for (const service of ['identity', 'users']) {
    const { paths } = (await (await fetch(`${base}/openapi/${service}.json`)).json()) as {
      paths: Record<string, Record<string, { security?: object[] }>>;
    };
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, { security = [] }] of Object.entries(operations)) {
        const isPublic = security.length === 0 || security.some((it) => Object.keys(it).length === 0);
        if (['get', 'head', 'options', 'parameters'].includes(method) || isPublic) continue;
        if (/^\/(oauth2?\/|userinfo|account|api\/v1\/auth\/logout)/.test(path)) continue;
        const url = path.replaceAll(/\{\w+\}/g, built.people.ann.id);
        const response = await fetch(base + url, {
          method: method.toUpperCase(),
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: '{}',
        });
        count += 1;
        t.equal(response.status, 403, `${method} ${path}`);
      }
    }
  }
  t.ok(count > 50, `${count} operations`);
  const own = `/v1/users/${built.people.admin.id}`;
  t.equal((await call('PATCH', own, token, { name: 'Ada Admin' })).status, 200, 'the own record');
  const notifications = await built.serviceToken('notifications');
  const delegation = { credential: `Bearer ${token}` };
  t.equal((await call('POST', '/internal/identity/delegations', notifications, delegation)).status, 403);
  t.equal((await call('POST', '/api/v1/auth/logout', token)).status, 204);
  t.equal((await call('GET', own, token)).status, 401);
});

t.test('an API of another owner decides which applications come, and people whether they do', async (t) => {
  const mail = `${origin}/mail`;
  const token_exchange = [
    { resource: calendar, scopes: [] },
    { resource: mail, scopes: ['mail:read'] },
  ];
  const [listed, unlisted] = [await agent(), await agent()];
  const applications = [listed.client_id, unlisted.client_id];
  await set.register('mail', logins.admin, { identifier: mail, applications });
  for (const id of applications)
    t.equal((await call('PATCH', `/api/v1/applications/${id}`, logins.ann, { token_exchange })).status, 200);
  const found = await call('GET', `/api/v1/resources?limit=100`, logins.admin);
  const at = (found.body.data as { id: string; identifier: string }[]).find((it) => it.identifier === mail);
  const only = { applications: [listed.client_id] };
  t.equal((await call('PATCH', `/api/v1/resources/${at?.id}`, logins.admin, only)).status, 200);
  t.equal((await exchange(subject, listed, { resource: mail })).body.error, 'invalid_grant', 'not asked');
  const asked = await tokens();
  const { status, body } = await exchange(asked.access_token, listed, { resource: mail });
  t.match([status, body.scope], [200, 'mail:read']);
  t.equal((await exchange(asked.access_token, unlisted, { resource: mail })).body.error, 'invalid_target');
});
