import { createServer } from 'node:http';
import { listen } from '@gatehouse/testing/listen';
import { until } from '@gatehouse/testing/processes';
import { createVerifier } from '@gatehouse/verify/verifier';
import { decodeJwt, exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import t from 'tap';
import { build, codeFor, MACHINE } from '../../build.ts';
import { mailsOf } from '../../pages.ts';
import { pkce, statusesOf, untilDead } from '../../tokens.ts';
import { startIssuer } from './workload-issuer.ts';

const built = await build(t, { checkResponses: true, config: { trustedIssuerNetworks: ['127.0.0.0/8'] } });
const { base, call, form, json } = built;
const [admin, ann] = [await built.login('admin'), await built.login('ann')];
const ISSUERS = '/api/v1/trusted-issuers';
const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const REDIRECT = 'https://web.example.org/callback';
/** As GitHub writes them. */
const GITHUB = {
  ...{
    sub: 'repo:acme/shop:ref:refs/heads/main',
    aud: base,
    repository: 'acme/shop',
    ref: 'refs/heads/main',
  },
  ...{ repository_id: '74', repository_owner: 'acme', workflow: 'deploy', run_id: '4711', run_attempt: '1' },
  ...{ event_name: 'push', ref_type: 'branch', ref_protected: 'true', runner_environment: 'github-hosted' },
};
const RULE = {
  ...{ name: 'main', subject: 'repo:acme/shop:*' },
  claims: { repository: 'acme/shop', ref: 'refs/heads/main' },
};

const upstream = await startIssuer(t);
const trust = async (issuer: string, more: object = {}) => {
  const { status, body } = await call('POST', ISSUERS, admin, { issuer, kinds: ['workload'], ...more });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return String(body.id);
};
const trusted = await trust(upstream.issuer, { preset: 'github' });
const auditedActions = async () =>
  ((await call('GET', '/api/v1/audit?limit=100', admin)).body.data as { action: string }[]).map(
    ({ action }) => action,
  );
const pathOf = (client: string) => `/api/v1/applications/${client}/federated-credentials`;

/** An application with a rule. */
async function application(rule: object = {}, draft: object = {}, owner = ann) {
  const made = await built.createApplication(owner, {
    ...{ name: 'CI', type: 'machine', scopes: ['read:data'], ...draft },
  });
  const all = { issuer: upstream.issuer, ...RULE, ...rule };
  const { status, body } = await call('POST', pathOf(made.client_id), owner, all);
  if (status !== 201) throw new Error(JSON.stringify(body));
  return { ...made, rule: String(body.id), path: pathOf(made.client_id) };
}
const assertion = (client_id: string, client_assertion: string) => ({
  ...{ client_id, client_assertion, client_assertion_type: TYPE },
});
const request = (client_id: string, token: string, more: Record<string, string> = {}) =>
  form({ grant_type: 'client_credentials', ...assertion(client_id, token), ...more });
const tokenOf = async (client_id: string, token: string, more: Record<string, string> = {}) => {
  const { status, body } = await request(client_id, token, more);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return String(body.access_token);
};

t.test('the API of issuers', async (t) => {
  const { jwks } = await startIssuer(t);
  const issuer = 'https://cluster.example/';
  const draft = { issuer, kinds: ['workload'], preset: 'kubernetes', jwks: jwks() };
  t.match(await call('POST', ISSUERS, undefined, draft), { status: 401 });
  t.match(await call('POST', ISSUERS, ann, draft), { status: 403 });
  for (const [name, body] of [
    ['a query', { ...draft, issuer: 'https://cluster.example/?a=1' }],
    ['a fragment', { ...draft, issuer: 'https://cluster.example/#a' }],
    ['no https', { ...draft, issuer: 'http://cluster.example' }],
    ['another scheme', { ...draft, issuer: 'ftp://cluster.example' }],
    ['no URL', { ...draft, issuer: 'cluster' }],
    ['credentials', { ...draft, issuer: 'https://a:b@cluster.example' }],
    ['this deployment', { ...draft, issuer: base }],
    ['no issuer', { ...draft, issuer: undefined }],
    ['no kinds', { ...draft, kinds: [] }],
    ['an unknown kind', { ...draft, kinds: ['person'] }],
    ['no algorithms', { ...draft, algorithms: [] }],
    ['none', { ...draft, algorithms: ['none'] }],
    ['HS256', { ...draft, algorithms: ['RS256', 'HS256'] }],
    ['an unknown preset', { ...draft, preset: 'jenkins' }],
    ['no keys', { ...draft, jwks: { keys: [] } }],
    ['a secret', { ...draft, jwks: { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] } }],
    ['a private key', { ...draft, jwks: { keys: [{ ...jwks().keys[0], d: 'AQAB' }] } }],
    ['keys and an address', { ...draft, jwks_uri: 'https://cluster.example/keys' }],
    ['keys by http', { ...draft, jwks: undefined, jwks_uri: 'http://cluster.example/keys' }],
  ] as const)
    t.match(await call('POST', ISSUERS, admin, body), { status: 400 }, name);
  const made = await call('POST', ISSUERS, admin, draft);
  t.match(made, {
    status: 201,
    body: {
      ...{ id: /^iss_/, issuer, kinds: ['workload'], preset: 'kubernetes', enabled: true, jwks_uri: null },
      ...{ reuses_tokens: true, algorithms: ['RS256', 'ES256'], scopes: null, applications: null },
    },
  });
  t.match(await call('POST', ISSUERS, admin, draft), { status: 409 });
  const path = `${ISSUERS}/${made.body.id}`;
  t.equal(made.headers.get('location'), path);
  t.same((await call('GET', path, admin)).body, made.body);
  t.match((await call('GET', ISSUERS, admin)).body.data, [{ id: trusted }, { id: made.body.id }]);
  for (const [method, at] of [
    ['GET', ISSUERS],
    ['GET', path],
    ['PATCH', path],
    ['DELETE', path],
  ] as const)
    t.match(await call(method, at, ann, method === 'PATCH' ? {} : undefined), { status: 403 }, method);
  t.match(await call('PATCH', path, admin, { algorithms: ['none'] }), { status: 400 });
  const changes = { jwks_uri: 'https://cluster.example/keys', kinds: ['workload', 'enterprise'] };
  t.match(await call('PATCH', path, admin, changes), { status: 200, body: { ...changes, jwks: null } });
  t.match(await call('PATCH', path, admin, { jwks_uri: null }), { status: 200, body: { jwks_uri: null } });
  t.match(await call('DELETE', path, admin), { status: 204 });
  for (const method of ['GET', 'PATCH', 'DELETE'])
    t.match(await call(method, path, admin, method === 'PATCH' ? {} : undefined), { status: 404 }, method);
  const actions = await auditedActions();
  for (const action of ['created', 'changed', 'deleted'])
    t.ok(actions.includes(`trusted_issuer.${action}`), action);
});

t.test('a SPIFFE trust domain speaks for its own workloads alone', async (t) => {
  const [domain, elsewhere] = ['spiffe://example.org', 'spiffe://example.com'];
  const keys = await startIssuer(t, 'ES256');
  const path = `${ISSUERS}/${await trust(domain, { preset: 'spiffe', jwks: keys.jwks() })}`;
  for (const [name, field, changes] of [
    ['without keys', 'jwks_uri', { jwks: null }],
    ['without keys or their URL', 'jwks_uri', { jwks: null, jwks_uri: null }],
    ['for people', 'kinds', { kinds: ['enterprise'] }],
    ['for people as well', 'kinds', { kinds: ['workload', 'enterprise'] }],
  ] as const) {
    const refused = { status: 400, body: { error: { details: [{ field }] } } };
    t.match(await call('PATCH', path, admin, changes), refused, name);
    const draft = { issuer: elsewhere, kinds: ['workload'], jwks: keys.jwks(), ...changes };
    t.match(await call('POST', ISSUERS, admin, draft), refused, `a new one ${name}`);
  }
  for (const changes of [{ jwks_uri: 'https://spire.example.org/' }, { jwks: null }, { jwks: keys.jwks() }])
    t.match(await call('PATCH', path, admin, changes), { status: 200 });
  const of = (subject: string, more: object = {}) => ({
    ...{ name: 'worker', issuer: domain, subject, claims: {}, ...more },
  });
  const { client_id } = await application(of(`${domain}/worker`));
  const foreign = await application(of(`${elsewhere}/worker`));
  const claims = { sub: `${domain}/worker`, aud: base, iss: undefined };
  const spiffe = TYPE.replace('bearer', 'spiffe');
  for (const [name, status, signer, more, type = spiffe, client = client_id] of [
    ['its own', 200, keys, {}],
    ['with an iss, which says nothing', 200, keys, { iss: upstream.issuer }],
    ['signed by another issuer', 401, upstream, {}],
    ['of another issuer', 401, upstream, { iss: upstream.issuer }, TYPE],
    ['of another issuer, in its name', 401, upstream, { iss: domain }, TYPE],
    ['of another trust domain', 401, keys, { sub: `${elsewhere}/worker` }, spiffe, foreign.client_id],
    ['in its name', 401, keys, { sub: `${elsewhere}/worker`, iss: domain }, TYPE, foreign.client_id],
    ['the trust domain itself', 401, keys, { sub: domain }],
    ['no SPIFFE ID', 401, keys, { sub: 'worker', iss: domain }],
    ['no SPIFFE ID, as another JWT', 401, keys, { sub: 'worker', iss: domain }, TYPE],
    ['no JWT', 401, { sign: async () => 'nonsense' }, {}],
  ] as [string, number, Pick<typeof keys, 'sign'>, object, string?, string?][]) {
    const token = await signer.sign({ ...claims, ...more });
    const sent = { ...assertion(client, token), client_assertion_type: type };
    const refused = status === 401 && { body: { error: 'invalid_client' } };
    t.match(await form({ grant_type: 'client_credentials', ...sent }), { status, ...refused }, name);
  }
});

t.test('the API of federated credentials', async (t) => {
  const { client_id, path, rule } = await application();
  const draft = { issuer: upstream.issuer, ...RULE };
  t.match((await call('GET', path, ann)).body.data, [
    { id: rule, ...draft, audience: null, issuer_enabled: true, last_used_at: null },
  ]);
  await built.createPerson('dev');
  await built.createPerson('viewer');
  await built.createPerson('stranger');
  for (const [user, role] of [
    ['dev', 'developer'],
    ['viewer', 'viewer'],
  ] as const) {
    await call('POST', `/api/v1/applications/${client_id}/members`, ann, { user, role });
    await call('POST', `/api/v1/memberships/${client_id}/accept`, await built.login(user));
  }
  for (const [user, list, explain, add] of [
    ['admin', 200, 200, 201],
    ['dev', 200, 200, 403],
    ['viewer', 200, 403, 403],
    ['stranger', 404, 404, 404],
  ] as const) {
    const token = await built.login(user);
    t.match(await call('GET', path, token), { status: list }, user);
    t.match(await call('POST', `${path}/explain`, token, { token: 'x' }), { status: explain }, user);
    t.match(await call('POST', path, token, draft), { status: add }, user);
    t.match(await call('DELETE', `${path}/fed_none`, token), { status: add === 201 ? 404 : add }, user);
  }
  t.match(await call('GET', path), { status: 401 });
  for (const [name, more] of [
    ['a bare wildcard', { subject: '*' }],
    ['a wildcard in a segment', { subject: 'repo:acme/sh*' }],
    ['a wildcard in the middle', { subject: 'repo:*:main' }],
    ['a wildcard in a claim', { claims: { ref: 'refs/heads/ma*' } }],
    ['a wildcard in the audience', { audience: 'api://*' }],
    ['an unknown issuer', { issuer: 'https://unknown.example' }],
    ['a list', { claims: { ref: ['a'] } }],
    ['no value', { claims: { ref: null } }],
    ['no subject', { subject: '' }],
    ['no name', { name: '' }],
  ] as const)
    t.match(await call('POST', path, ann, { ...draft, ...more }), { status: 400 }, name);
  for (const type of ['spa', 'native', 'resource']) {
    const uris = type === 'resource' ? {} : { redirect_uris: ['https://a.example.org/cb'] };
    const other = await built.createApplication(ann, {
      name: 'X',
      type,
      scopes: type === 'resource' ? [] : ['openid'],
      ...uris,
    });
    t.match(await call('POST', pathOf(other.client_id), ann, draft), { status: 400 }, type);
  }
  const many = Array.from({ length: 30 }, () => call('POST', path, ann, draft));
  const statuses = (await Promise.all(many)).map(({ status }) => status);
  t.equal(statuses.filter((it) => it === 201).length, 18, 'twenty in all');
  t.equal(statuses.filter((it) => it === 409).length, 12);
  t.match(await call('DELETE', `${path}/${rule}`, ann), { status: 204 });
  t.match(await call('DELETE', `${path}/${rule}`, ann), { status: 404 });
  const mails = (await mailsOf(built)).filter((it) => it.includes('accepts tokens of'));
  t.equal(mails.length >= 2, true, 'the owner hears of each');
  const actions = await auditedActions();
  for (const action of ['created', 'removed'])
    t.ok(actions.includes(`federated_credential.${action}`), action);
});

t.test('tokens as GitHub, GitLab and Kubernetes sign them', async (t) => {
  const cluster = await startIssuer(t);
  const gitlab = await startIssuer(t, 'ES256');
  // A cluster that cannot be reached.
  cluster.state.intercept = (_, response) => response.destroy() !== undefined;
  await trust(cluster.issuer, { preset: 'kubernetes', jwks: cluster.jwks() });
  await trust(gitlab.issuer, { preset: 'gitlab', algorithms: ['ES256'] });
  const now = Math.floor(Date.now() / 1000);
  const pod = { name: 'worker-7', uid: '5e0bd49b-f040-43b0-99b7-22765a53f7f3' };
  for (const [name, rule, issuer, claims, isReused] of [
    ['GitHub', {}, upstream, GITHUB, false],
    [
      'GitLab',
      { issuer: gitlab.issuer, subject: 'project_path:acme/shop:*', claims: { project_path: 'acme/shop' } },
      gitlab,
      {
        ...{ sub: 'project_path:acme/shop:ref_type:branch:ref:main', aud: `${base}/oauth2/token` },
        ...{ project_path: 'acme/shop', project_id: '22', namespace_path: 'acme', ref: 'main' },
        ...{ ref_type: 'branch', ref_protected: 'true', pipeline_id: '1212', job_id: '1212' },
      },
      false,
    ],
    [
      'Kubernetes',
      { issuer: cluster.issuer, subject: 'system:serviceaccount:shop:worker', claims: {} },
      cluster,
      {
        ...{ sub: 'system:serviceaccount:shop:worker', aud: [base], jti: undefined, exp: now + 3600 },
        'kubernetes.io': {
          ...{ namespace: 'shop', node: { name: 'node-1', uid: pod.uid }, pod },
          serviceaccount: { name: 'worker', uid: pod.uid },
        },
      },
      true,
    ],
  ] as const) {
    const { client_id, path } = await application(rule);
    const token = await issuer.sign(claims as JWTPayload);
    t.match(await request(client_id, token), { status: 200, body: { scope: 'read:data' } }, name);
    const again = await json({ grant_type: 'client_credentials', ...assertion(client_id, token) });
    t.equal(again.status, isReused ? 200 : 401, `${name}, once more`);
    await until(async () => {
      const [rule] = (await call('GET', path, ann)).body.data as { last_used_at: string | null }[];
      return rule?.last_used_at !== null;
    }, 5000);
  }
  t.strictSame(cluster.state.requests, [], 'pasted keys are not fetched');
});

t.test('the token names the rule, and its issuer', async (t) => {
  const { client_id, rule } = await application();
  const issued = await tokenOf(client_id, await upstream.sign(GITHUB));
  t.match(decodeJwt(issued), {
    ...{ sub: client_id, client_id, credential_id: rule, gid: `${trusted}.1`, scope: 'read:data' },
  });
  t.match(await call('GET', '/api/v1/auth/permissions', issued), { status: 200 });
  const access = (await call('GET', '/api/v1/access', ann)).body.data as { id: string }[];
  t.match(
    access.find(({ id }) => id === rule),
    { kind: 'federated_credential', effect: 'ends' },
  );
  const logout = await call('POST', '/api/v1/auth/logout', issued);
  t.equal(logout.status, 204);
  const other = await tokenOf(client_id, await upstream.sign(GITHUB));
  t.match(await statusesOf(built, other), [403, 200], 'logging out ends that token alone');
});

t.test('attacks', async (t) => {
  const { client_id } = await application();
  const evil = await startIssuer(t);
  const off = await startIssuer(t);
  const enterprise = await startIssuer(t);
  const offId = await trust(off.issuer);
  await trust(evil.issuer);
  const ofPeople = await trust(enterprise.issuer);
  for (const { issuer } of [off, enterprise])
    t.match(await call('POST', pathOf(client_id), ann, { ...RULE, issuer }), { status: 201 });
  await call('PATCH', `${ISSUERS}/${offId}`, admin, { enabled: false });
  await call('PATCH', `${ISSUERS}/${ofPeople}`, admin, { kinds: ['enterprise'] });
  const once = await upstream.sign(GITHUB);
  t.match(await request(client_id, once), { status: 200 });
  const noJti = await upstream.sign({ ...GITHUB, jti: undefined } as object);
  t.match(await request(client_id, noJti), { status: 200 }, 'the hash stands for the jti');
  const now = Math.floor(Date.now() / 1000);
  const own = await generateKeyPair('RS256', { extractable: true });
  const ownJwk = { ...(await exportJWK(own.publicKey)), alg: 'RS256', kid: 'own' };
  const publicPem = new TextEncoder().encode(await exportSPKI(upstream.publicKey()));
  const hs = (secret: Uint8Array) =>
    new SignJWT({ iss: upstream.issuer, iat: now, exp: now + 60, jti: 'hs', ...GITHUB })
      .setProtectedHeader({ alg: 'HS256', kid: upstream.jwks().keys[0]?.kid ?? '' })
      .sign(secret);
  const [, payload] = once.split('.');
  const header = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
  const forged = (claims: object) => upstream.sign({ ...GITHUB, ...claims });
  const [goodHeader, , goodSignature] = once.split('.');
  const changed = Buffer.from(JSON.stringify({ ...decodeJwt(once), jti: 'other' })).toString('base64url');
  for (const [name, token] of [
    ['used before', once],
    ['used before, without jti', noJti],
    ['used before, without jti, the signature written otherwise', rewritten(noJti)],
    ['of another issuer with the same subject', await evil.sign(GITHUB)],
    ['of another issuer, that names this one', await evil.sign({ ...GITHUB, iss: upstream.issuer })],
    ['of an issuer that is off', await off.sign(GITHUB)],
    ['of an issuer of people', await enterprise.sign(GITHUB)],
    ['of an unknown issuer', await evil.sign({ ...GITHUB, iss: 'https://unknown.example' })],
    ['for somebody else', await forged({ aud: 'https://other.example' })],
    ['for us and somebody else', await forged({ aud: [base, 'https://other.example'] })],
    ['for nobody', await forged({ aud: undefined })],
    ['of a longer repository', await forged({ repository: 'acme/shop-evil' })],
    ['of a longer subject', await forged({ sub: 'repo:acme/shop-evil:ref:refs/heads/main' })],
    ['with nothing after the prefix', await forged({ sub: 'repo:acme/shop:' })],
    ['in another case', await forged({ repository: 'Acme/shop' })],
    ['with a list', await forged({ repository: ['acme/shop', 'acme/other'] })],
    ['with a list of one', await forged({ ref: ['refs/heads/main'] })],
    ['of another branch', await forged({ ref: 'refs/heads/next' })],
    ['expired', await forged({ iat: now - 600, nbf: now - 600, exp: now - 61 })],
    ['without exp', await forged({ exp: undefined })],
    ['without iat', await forged({ iat: undefined })],
    ['of the future', await forged({ iat: now + 90, nbf: now })],
    ['not yet valid', await forged({ nbf: now + 90 })],
    ['too old', await forged({ iat: now - 86_500, exp: now + 60 })],
    ['that lives too long', await forged({ exp: now + 86_500 })],
    ['with exp as a text', await forged({ exp: String(now + 60) as never })],
    ['unsigned', `${header}.${payload}.`],
    ['signed by the public key as a secret', await hs(publicPem)],
    ['signed by an empty secret', await hs(new Uint8Array(32))],
    ['changed', `${goodHeader}.${changed}.${goodSignature}`],
    [
      'with its own key in the header',
      await upstream.sign(GITHUB, { jwk: ownJwk, kid: 'own' }, own.privateKey),
    ],
    ['with a jku', await upstream.sign(GITHUB, { jku: `${evil.issuer}/keys`, kid: 'own' }, own.privateKey)],
    ['with a critical header', await upstream.sign(GITHUB, { crit: ['x'], x: 1 }).catch(() => 'a.b.c')],
    ['cut', once.slice(0, -4)],
  ] as const) {
    for (const { status, body } of [
      await request(client_id, token),
      await json({ grant_type: 'client_credentials', ...assertion(client_id, token) }),
    ])
      t.match([status, body.error], [401, 'invalid_client'], `${name}: ${JSON.stringify(body)}`);
  }
  t.strictSame(evil.state.requests, [], 'nobody asks the issuer of a token that matches no rule');
  const fresh = () => upstream.sign(GITHUB);
  const { client_id: stranger } = await built.createApplication(ann, {
    name: 'X',
    type: 'machine',
    scopes: ['read:data'],
  });
  for (const [name, body, status] of [
    ['of an application without the rule', assertion(stranger, await fresh()), 401],
    ['of an unknown application', assertion('app_unknown', await fresh()), 401],
    ['of no application', { client_assertion: await fresh(), client_assertion_type: TYPE }, 401],
    ['with another type', { ...assertion(client_id, await fresh()), client_assertion_type: 'urn:x' }, 400],
    ['with a secret', { ...assertion(client_id, await fresh()), client_secret: 'x' }, 400],
    ['with the secret of another', { ...assertion(client_id, await fresh()), ...MACHINE }, 400],
    ['with a wider scope', { ...assertion(client_id, await fresh()), scope: 'read:users' }, 400],
  ] as const) {
    const response = await form({ grant_type: 'client_credentials', ...body });
    t.equal(response.status, status, `${name}: ${JSON.stringify(response.body)}`);
    if (name === 'with a wider scope') t.equal(response.body.error, 'invalid_scope');
  }
});

t.test('keys are fetched seldom, and from where they should be', async (t) => {
  const quick = async (work: () => Promise<unknown>) => {
    const begun = performance.now();
    await work();
    return performance.now() - begun;
  };
  const rotating = await startIssuer(t);
  await trust(rotating.issuer);
  const { client_id } = await application({ issuer: rotating.issuer });
  t.match(await request(client_id, await rotating.sign(GITHUB)), { status: 200 });
  await rotating.rotate();
  t.match(
    await request(client_id, await rotating.sign(GITHUB)),
    { status: 200 },
    'new keys are fetched at once',
  );
  const flood = await startIssuer(t);
  await trust(flood.issuer);
  const flooded = await application({ issuer: flood.issuer });
  const unknown = Array.from({ length: 60 }, (_, i) => flood.sign(GITHUB, { kid: `unknown-${i}` }));
  for (const token of await Promise.all(unknown.slice(0, 30)))
    t.match(await request(flooded.client_id, token), { status: 401 });
  await Promise.all((await Promise.all(unknown.slice(30))).map((it) => request(flooded.client_id, it)));
  t.ok(flood.state.requests.length <= 5, `${flood.state.requests.length} fetches`);
  t.match(
    await request(flooded.client_id, await flood.sign(GITHUB)),
    { status: 200 },
    'known keys still count',
  );

  const seen: string[] = [];
  const inside = createServer(({ url = '' }, response) => {
    seen.push(url);
    response.end(JSON.stringify(upstream.jwks()));
  });
  const location = `http://127.0.0.1:${await listen(t, inside)}/keys`;
  type Intercept = Awaited<ReturnType<typeof startIssuer>>['state']['intercept'];
  for (const [name, intercept] of [
    ['5 MB', (path, response) => path === '/keys' && response.end(' '.repeat(5e6)) !== undefined],
    ['slow', (path) => path === '/keys'],
    ['a slow discovery', () => true],
    [
      'a redirect',
      (path, response) => path === '/keys' && response.writeHead(302, { location }).end() !== undefined,
    ],
    ['an error', (_, response) => response.writeHead(500).end('{"keys":[]}') !== undefined],
    [
      'the discovery of another issuer',
      (path, response, issuer) =>
        path !== '/keys' &&
        response.end(JSON.stringify({ issuer: upstream.issuer, jwks_uri: `${issuer}/keys` })) !== undefined,
    ],
    [
      'keys by another scheme',
      (path, response, issuer) =>
        path !== '/keys' &&
        response.end(JSON.stringify({ issuer, jwks_uri: 'file:///etc/passwd' })) !== undefined,
    ],
  ] as [string, NonNullable<Intercept>][]) {
    const odd = await startIssuer(t);
    odd.state.intercept = intercept;
    await trust(odd.issuer);
    const of = await application({ issuer: odd.issuer });
    const token = await odd.sign(GITHUB);
    const ms = await quick(async () => {
      t.match(await request(of.client_id, token), { status: 401, body: { error: 'invalid_client' } }, name);
    });
    t.ok(ms < 15_000, `${name}: ${ms} ms`);
  }
  t.strictSame(seen, [], 'no redirect is followed');
});

t.test('wherever clients authenticate', async (t) => {
  const machine = await application();
  const issued = await tokenOf(machine.client_id, await upstream.sign(GITHUB));
  const proof = async (client_id: string) => assertion(client_id, await upstream.sign(GITHUB));
  const introspect = async () =>
    (await form({ token: issued, ...(await proof(machine.client_id)) }, {}, '/oauth2/introspect')).body;
  t.match(await introspect(), { active: true, client_id: machine.client_id });
  t.match(await form({ token: issued, ...(await proof(machine.client_id)) }, {}, '/oauth2/revoke'), {
    status: 200,
  });
  t.match(await introspect(), { active: false });

  const web = await application(
    {},
    { type: 'web', scopes: ['openid', 'read:profile'], redirect_uris: [REDIRECT] },
  );
  const { code_verifier, challenge } = pkce();
  const asked = { redirect_uri: REDIRECT, scope: 'openid read:profile', ...challenge };
  const { client_id } = web;
  const pushed = await form(
    { response_type: 'code', ...asked, ...(await proof(client_id)) },
    {},
    '/oauth2/par',
  );
  t.equal(pushed.status, 201, JSON.stringify(pushed.body));
  const code = await codeFor(built.browser(), { client_id, ...asked });
  const grant = { grant_type: 'authorization_code', code, code_verifier, redirect_uri: REDIRECT };
  const tokens = await form({ ...grant, ...(await proof(client_id)) });
  t.equal(tokens.status, 200, JSON.stringify(tokens.body));
  const ofPerson = decodeJwt(String(tokens.body.access_token));
  t.notMatch(String(ofPerson.gid), /^iss_/, 'the person’s token rests on the person’s grant');
  const refresh = { grant_type: 'refresh_token', refresh_token: String(tokens.body.refresh_token) };
  const refreshed = await json({ ...refresh, ...(await proof(client_id)) });
  t.equal(refreshed.status, 200, JSON.stringify(refreshed.body));
  t.match(await form({ grant_type: 'client_credentials', ...(await proof(client_id)) }), {
    ...{ status: 400, body: { error: 'unauthorized_client' } },
  });
});

t.test('beside public keys and secrets of its own', async (t) => {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] };
  const { client_id } = await application({}, { jwks });
  t.match(await request(client_id, await upstream.sign(GITHUB)), { status: 200 });
  const own = await new SignJWT({ jti: crypto.randomUUID() })
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuer(client_id)
    .setSubject(client_id)
    .setAudience(base)
    .setExpirationTime('1m')
    .sign(privateKey);
  const issued = await request(client_id, own);
  t.equal(issued.status, 200, 'private_key_jwt');
  const asked = { token: String(issued.body.access_token) };
  const introspected = await form(
    { ...asked, ...assertion(client_id, await upstream.sign(GITHUB)) },
    {},
    '/oauth2/introspect',
  );
  t.match(introspected.body, { active: true });
  const { rule: _, path: __, ...secret } = await application();
  t.match(await form({ grant_type: 'client_credentials', ...secret }), { status: 200 });
});

t.test('the bounds of an issuer', async (t) => {
  const bounded = await startIssuer(t);
  const id = await trust(bounded.issuer, { scopes: ['read:data'] });
  const { client_id } = await application(
    { issuer: bounded.issuer },
    { scopes: ['read:data', 'read:users'] },
    admin,
  );
  const ask = async (scope = '') =>
    request(client_id, await bounded.sign(GITHUB), scope === '' ? {} : { scope });
  t.match((await ask()).body, { scope: 'read:data' });
  t.match(await ask('read:users'), { status: 400, body: { error: 'invalid_scope' } });
  await call('PATCH', `${ISSUERS}/${id}`, admin, { scopes: null, applications: [] });
  t.match(await ask(), { status: 401 });
  await call('PATCH', `${ISSUERS}/${id}`, admin, { applications: [client_id] });
  t.match(await ask('read:users'), { status: 200 });
});

t.test('how tokens end', async (t) => {
  const ending = await startIssuer(t);
  const id = await trust(ending.issuer);
  const path = `${ISSUERS}/${id}`;
  const app = await application({ issuer: ending.issuer, claims: {} }, { scopes: ['read:users'] }, admin);
  const issue = async (more = {}) => tokenOf(app.client_id, await ending.sign(GITHUB), more);
  const identifier = 'https://api.example.com/';
  await call('POST', '/api/v1/resources', admin, {
    ...{ identifier, name: 'API', scopes: [{ name: 'api:read', description: 'Read' }] },
  });
  const server = await built.createApplication(admin, { name: 'API', type: 'resource', scopes: [] });
  const verifier = createVerifier({
    ...{ issuer: base, audience: identifier },
    ...{ clientId: server.client_id, clientSecret: server.client_secret },
  });
  t.teardown(() => verifier.close());
  const verify = (token: string) =>
    verifier
      .verify(new Request(identifier, { headers: { authorization: `Bearer ${token}` } }))
      .then(() => true)
      .catch(() => false);
  const introspect = async (token: string) =>
    (await form({ token, ...server }, {}, '/oauth2/introspect')).body.active;
  const dead: string[] = [];
  for (const [name, method, at, body] of [
    ['switching it off', 'PATCH', path, { enabled: false }],
    ['other kinds', 'PATCH', path, { kinds: ['workload', 'enterprise'] }],
    ['other keys', 'PATCH', path, { jwks_uri: `${ending.issuer}/keys` }],
    ['removing the rule', 'DELETE', `${app.path}/${app.rule}`, undefined],
    ['deleting it', 'DELETE', path, undefined],
  ] as const) {
    const token = await issue();
    const foreign = await issue({ resource: identifier, scope: 'api:read' });
    t.match(await statusesOf(built, token), [200, 200], name);
    t.equal(await verify(foreign), true, name);
    t.equal(await introspect(foreign), true, name);
    const changed = await call(method, at, admin, body);
    t.ok(changed.status < 300, JSON.stringify(changed.body));
    const begun = performance.now();
    const ms = await untilDead(built, token);
    t.ok(ms < 1000, `${name}: ${ms} ms`);
    await until(async () => !(await verify(foreign)), 5000);
    t.ok(performance.now() - begun < 1500, `${name}: ${performance.now() - begun} ms at a foreign API`);
    t.equal(await introspect(foreign), false, name);
    dead.push(token);
    if (name === 'switching it off') {
      t.match(await request(app.client_id, await ending.sign(GITHUB)), { status: 401 });
      t.match(await call('PATCH', path, admin, { enabled: true }), { status: 200 });
    }
    if (name === 'removing the rule') {
      t.match(await request(app.client_id, await ending.sign(GITHUB)), { status: 401 });
      await call('POST', app.path, admin, { ...RULE, issuer: ending.issuer, claims: {} });
    }
  }
  for (const token of dead) t.match(await statusesOf(built, token), [401, 401], 'nothing revives it');
  t.match(await request(app.client_id, await ending.sign(GITHUB)), { status: 401 });
});

t.test('a deletion wins against switching the issuer on, and ends what was issued meanwhile', async (t) => {
  const racing = await startIssuer(t);
  let path = `${ISSUERS}/${await trust(racing.issuer)}`;
  const app = await application({ issuer: racing.issuer, claims: {} });
  for (let i = 0; i < 5; i += 1) {
    const before = await tokenOf(app.client_id, await racing.sign(GITHUB));
    const switchOn = async () => {
      const { status } = await call('PATCH', path, admin, { enabled: true });
      return [status, (await request(app.client_id, await racing.sign(GITHUB))).body.access_token] as const;
    };
    const [deleted, ...switched] = await Promise.all([
      call('DELETE', path, admin),
      ...Array.from({ length: 4 }, switchOn),
    ]);
    t.equal(deleted.status, 204);
    for (const [status] of switched) t.ok(status === 200 || status === 404, String(status));
    t.equal((await call('GET', path, admin)).status, 404);
    t.equal((await request(app.client_id, await racing.sign(GITHUB))).status, 401);
    for (const token of [before, ...switched.map(([, issued]) => issued)]) {
      if (token !== undefined) await untilDead(built, String(token));
    }
    path = `${ISSUERS}/${await trust(racing.issuer)}`;
  }
});

t.test('a transfer takes the rules away', async (t) => {
  const { client_id, path } = await application();
  const issued = await tokenOf(client_id, await upstream.sign(GITHUB));
  t.match(await call('POST', `/api/v1/applications/${client_id}/transfer`, admin, { to: 'admin' }), {
    status: 200,
  });
  await untilDead(built, issued);
  t.strictSame((await call('GET', path, admin)).body.data, []);
  t.match(await request(client_id, await upstream.sign(GITHUB)), { status: 401 });
});

t.test('explain', async (t) => {
  const { client_id, path, rule } = await application();
  await call('POST', path, ann, {
    ...RULE,
    name: 'tags',
    issuer: upstream.issuer,
    claims: { ref: 'refs/tags/*' },
  });
  const token = await upstream.sign(GITHUB);
  const explain = async (it: string) => (await call('POST', `${path}/explain`, ann, { token: it })).body;
  t.match(await explain(token), {
    token: { valid: true },
    rules: [
      { id: rule, name: 'main', matches: true },
      { name: 'tags', matches: false, claim: 'ref', expected: 'refs/tags/*', actual: 'refs/heads/main' },
    ],
  });
  t.match(await request(client_id, token), { status: 200 }, 'it was not used up');
  const now = Math.floor(Date.now() / 1000);
  const evil = await startIssuer(t);
  for (const [name, bad, problem] of [
    ['expired', await upstream.sign({ ...GITHUB, exp: now - 100 }), /expired/],
    ['forged', await evil.sign({ ...GITHUB, iss: upstream.issuer }), /no key of its issuer/],
    ['of another issuer', await evil.sign(GITHUB), /no trusted issuer/],
    ['no JWT', 'x', /no valid JWT/],
    ['empty', '', /no valid JWT/],
  ] as const) {
    const { token: found, rules } = await explain(bad);
    t.match(found, { valid: false, problem }, name);
    t.equal((rules as unknown[]).length, 2, name);
  }
  let deep: unknown[] = [];
  for (let i = 0; i < 3000; i += 1) deep = [deep];
  const payload = `{"iss":"${upstream.issuer}","sub":${JSON.stringify(deep)}}`;
  const nested = ['{"alg":"RS256"}', payload, '']
    .map((it) => Buffer.from(it).toString('base64url'))
    .join('.');
  t.match((await explain(nested)).rules, [{ claim: 'sub', actual: 'an object or a long list' }]);
  t.match((await explain(await upstream.sign({ ...GITHUB, ref: undefined }))).rules, [
    { claim: 'ref', actual: null },
    { claim: 'ref', actual: null },
  ]);
});

/** The same JWT with other unused bits in the last character of its signature. */
function rewritten(token: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return token.slice(0, -1) + alphabet[alphabet.indexOf(token.at(-1) ?? '') ^ 1];
}
