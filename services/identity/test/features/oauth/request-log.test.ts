import type { LoggedRequest } from '@gatehouse/server/usage/usage-batch';
import { until } from '@gatehouse/testing/processes';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import t from 'tap';
import { authorizeUrl, build, codeFor, MACHINE, SPA, WEB } from '../../build.ts';
import { pkce } from '../../tokens.ts';

const log: LoggedRequest[] = [];
const built = await build(t, {
  events: {
    async publish({ data }) {
      log.push(...((data.log ?? []) as LoggedRequest[]));
    },
  },
});
const { base, form } = built;
const SECRET = 'wr0ng-secret-of-34-many-characters-x';

t.test('what OAuth refuses is logged for its client, with what would have been right', async (t) => {
  const machine = { grant_type: 'client_credentials', ...MACHINE };
  const exchange = { grant_type: 'authorization_code', ...WEB, code: 'c0de-that-nobody-has-issued-123' };
  const cases: [name: string, send: (id: string) => Promise<unknown>, path: string, row: object][] = [];
  const token = (parameters: Record<string, string>) => (id: string) =>
    form(parameters, { 'x-request-id': id });
  const at = (path: string) => (id: string) =>
    fetch(base + path, { redirect: 'manual', headers: { 'x-request-id': id } });
  const { challenge } = pkce();
  const { code_verifier: other } = pkce();
  const code = await codeFor(built.browser(), {
    ...{ client_id: SPA.client_id, redirect_uri: SPA.redirect_uri },
    ...challenge,
  });
  const spa = { grant_type: 'authorization_code', ...SPA, code, code_verifier: other };
  const TOKEN = '/oauth2/token';
  cases.push(
    [
      'secret',
      token({ ...machine, client_secret: SECRET }),
      TOKEN,
      { code: 'invalid_client', message: /secret is wrong/, authenticated: false },
    ],
    [
      'scope',
      token({ ...machine, scope: 'write:data' }),
      TOKEN,
      { code: 'invalid_scope', message: /may ask for: .*read:users/, authenticated: true },
    ],
    [
      'method',
      token({ ...spa, client_secret: SECRET }),
      TOKEN,
      { code: 'invalid_client', message: 'This client authenticates by none.', authenticated: false },
    ],
    [
      'code',
      token(exchange),
      TOKEN,
      { code: 'invalid_grant', message: /^A code works once/, authenticated: true },
    ],
    [
      'pkce',
      token(spa),
      TOKEN,
      { code: 'invalid_grant', message: /^The PKCE verifier does not match/, authenticated: false },
    ],
    [
      'redirect',
      at(authorizeUrl({ redirect_uri: `https://web.example.org/other?token=${SECRET}` })),
      '/oauth2/authorize',
      {
        code: 'invalid_redirect_uri',
        authenticated: false,
        message: `redirect_uri is not registered. Registered: ${WEB.redirect_uri}`,
      },
    ],
  );
  const authorization = `Basic ${btoa(`${MACHINE.client_id}:${SECRET}`)}`;
  cases.push([
    'basic',
    (id) => form({ grant_type: 'client_credentials' }, { 'x-request-id': id, authorization }),
    TOKEN,
    { code: 'invalid_client', message: /secret is wrong/, credential: null, authenticated: false },
  ]);
  const key = await built.machineToken();
  const lost = (method: string, path: string) => (id: string) =>
    fetch(base + path, { method, headers: { 'x-request-id': id, authorization: `Bearer ${key}` } });
  const APPLICATIONS = '/api/v1/applications';
  cases.push(
    [
      'unknown',
      lost('GET', `${APPLICATIONS}/a/b/c`),
      `${APPLICATIONS}/*`,
      { status: 404, code: 'not_found' },
    ],
    ['unsupported', lost('PUT', APPLICATIONS), APPLICATIONS, { status: 405, client: MACHINE.client_id }],
  );
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const signing = await built.call('POST', '/api/v1/applications', await built.login('admin'), {
    ...{ name: 'Signs', type: 'machine', trusted: true, scopes: ['read:users'] },
    jwks: { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig' }] },
  });
  const id = String(signing.body.client_id);
  for (const [name, key, row] of [
    ['assertion', privateKey, { code: 'invalid_scope', authenticated: true }],
    ['forged', (await generateKeyPair('ES256')).privateKey, { code: 'invalid_client', authenticated: false }],
  ] as const) {
    const assertion = new SignJWT({ jti: name })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer(id)
      .setSubject(id)
      .setAudience(base)
      .setIssuedAt()
      .setExpirationTime('1 minute');
    const client_assertion = await assertion.sign(key);
    const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
    const { grant_type } = machine;
    const sent = token({ grant_type, scope: 'write:data', client_assertion, client_assertion_type });
    cases.push([name, sent, TOKEN, row]);
  }
  for (const [name, send] of cases) await send(`case-${name}`);
  await until(
    async () => cases.every(([name]) => log.some((it) => it.request_id === `case-${name}`)),
    15_000,
  );
  for (const [name, , path, row] of cases) {
    t.match(
      log.find((it) => it.request_id === `case-${name}`),
      { path, ...row },
      name,
    );
  }
  const all = JSON.stringify(log);
  for (const secret of [
    SECRET,
    authorization.slice(6),
    exchange.code,
    code,
    other,
    MACHINE.client_secret,
    WEB.client_secret,
  ]) {
    t.notOk(all.includes(secret), 'no secrets');
  }
  t.notOk(
    log.some((it) => it.client === 'users'),
    'nor what services ask each other',
  );
});
