import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { createOutbound } from '@gatehouse/outbound/outbound';
import { listen } from '@gatehouse/testing/listen';
import { decodeJwt } from 'jose';
import t from 'tap';
import { readIdentityProviders } from '../../../src/features/identity-providers/provider-settings.ts';
import { createUpstreamClient } from '../../../src/features/identity-providers/upstream-client.ts';
import { isIssuerOf } from '../../../src/features/identity-providers/upstream-identity.ts';

const CLIENT = { client_id: 'us', client_secret: 'a-secret-that-is-never-shown' };
const OWN = { id: 'acme', label: 'Acme', issuer: 'https://id.acme.example', ...CLIENT };
const US = { redirectUri: 'https://us.example/callback', outbound: createOutbound({ to: 'configured' }) };
const CHECKS = { nonce: 'n', verifier: 'v'.repeat(43), isFresh: false };

const WRONG: [string, unknown, RegExp][] = [
  ['no list', {}, /^must be a list$/],
  ['no client', [{ preset: 'google' }], /provider 1: client_id is required/],
  ['no secret', [{ preset: 'google', client_id: 'us' }], /client_secret is required/],
  ['no label', [{ ...OWN, label: undefined }], /label is required/],
  ['a label of two lines', [{ ...OWN, label: 'Acme\r\nBcc: x@y.example' }], /label must be one line/],
  ['a member that is misspelt', [{ ...OWN, domian: ['a.example'] }], /provider 1: .*is not a known field/],
  ['an unknown preset', [{ preset: 'x', ...CLIENT }], /preset must be one of google/],
  ['plain HTTP', [{ ...OWN, issuer: 'http://id.acme.example' }], /begins with https/],
  ['the name of another way to sign in', [{ ...OWN, id: 'passkey' }], /id must not be passkey/],
  ['the name of the password', [{ ...OWN, id: 'password' }], /id must not be password/],
  ['an id with a slash', [{ ...OWN, id: 'a/b' }], /id must have/],
  ['no domain', [{ ...OWN, domains: [] }], /domains must have at least one/],
  ['a domain with an @', [{ ...OWN, domains: ['@a.example'] }], /domains must be names/],
  ['addresses of anybody', [{ preset: 'microsoft', trust_email: true, ...CLIENT }], /your own organization/],
  ...[
    'https://LOGIN.microsoftonline.com/common/v2.0',
    'https://login.microsoftonline.com/Common/v2.0',
    'https://login.microsoftonline.com:443/organizations/v2.0',
    'https://login.microsoftonline.com/x/../%63ommon/v2.0',
    'https://login.microsoftonline.com/9188040D-6C67-4C5B-B112-36A304B66DAD/v2.0',
  ].map((issuer): [string, unknown, RegExp] => [
    issuer,
    [{ preset: 'microsoft', issuer, trust_email: true, ...CLIENT }],
    /your own organization/,
  ]),
  ['Apple without a key', [{ preset: 'apple', client_id: 'us', team_id: 't', key_id: 'k' }], /private_key/],
  ['sign-ups of no domain', [{ ...OWN, sign_up: 'domains' }], /domains must have at least one domain, as/],
  ['the same id twice', [OWN, OWN], /two providers with the same id/],
];
t.test('a setting that is wrong is refused, and no secret is quoted', async (t) => {
  for (const [name, value, message] of WRONG) {
    const error = t.throws(() => readIdentityProviders(JSON.parse(JSON.stringify(value))), { message }, name);
    t.notMatch(String(error), CLIENT.client_secret);
  }
  t.strictSame(
    readIdentityProviders([{ preset: 'google', ...CLIENT }]).map(({ id, label, issuer }) => [
      id,
      label,
      issuer,
    ]),
    [['google', 'Google', 'https://accounts.google.com']],
  );
});

t.test('identities of an issuer are those of a provider that is configured with it', async (t) => {
  const entra = (organization: string) => `https://login.microsoftonline.com/${organization}/v2.0`;
  const tenant = '72f988bf-86f1-41af-91ab-2d7cd011db47';
  for (const [issuer, of, expected] of [
    ['https://id.acme.example', 'https://id.acme.example', true],
    ['https://ID.acme.example/', 'https://id.acme.example', true],
    ['https://id.acme.example', 'https://id.other.example', false],
    ['https://id.acme.example/a', 'https://id.acme.example/b', false],
    [entra('common'), entra(tenant), true],
    [entra('common'), `https://evil.example/${tenant}/v2.0`, false],
    [entra(tenant), entra(tenant), true],
    [entra(tenant), entra('9188040d-6c67-4c5b-b112-36a304b66dad'), false],
  ] as const) {
    t.equal(isIssuerOf({ issuer }, of), expected, `${issuer} ${of}`);
  }
  const own = { preset: 'microsoft', issuer: entra(tenant), trust_email: true, ...CLIENT };
  t.equal(readIdentityProviders([own])[0]?.trustsEmail, true);
});

// GitHub and Apple cannot be reached from a test: this server answers as their documentation says.
t.test('GitHub says who it is by its API, and a primary address counts if it is verified', async (t) => {
  let isVerified = true;
  const server = createServer((request, response) => {
    const replies: Record<string, unknown> = {
      '/login/oauth/access_token': { access_token: 'token', token_type: 'bearer', scope: 'read:user' },
      '/api/v3/user': { id: 42, login: 'octo', name: 'Octo Cat', avatar_url: 'https://x.example/octo.png' },
      '/api/v3/user/emails': [
        { email: 'other@x.example', primary: false, verified: true },
        { email: 'octo@x.example', primary: true, verified: isVerified },
      ],
    };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(replies[request.url ?? '']));
  });
  const issuer = `http://127.0.0.1:${await listen(t, server)}/login/oauth`;
  const [provider] = readIdentityProviders([{ preset: 'github', issuer, ...CLIENT }]);
  if (provider === undefined) throw new Error('no provider');
  const client = createUpstreamClient(provider, US);
  const url = new URL(await client.authorizationUrl('state', CHECKS));
  t.equal(url.origin + url.pathname, `${issuer}/authorize`);
  t.equal(url.searchParams.get('nonce'), null);
  const response = new Map([
    ['code', 'c'],
    ['state', 'state'],
    ['iss', issuer],
  ]);
  for (isVerified of [true, false]) {
    t.match(await client.finish(response, { ...CHECKS, state: 'state' }), {
      ...{ issuer, subject: '42', email: 'octo@x.example', isEmailVerified: isVerified, name: 'Octo Cat' },
      picture: 'https://x.example/octo.png',
    });
  }
  t.match(
    await client
      .finish(response.set('iss', 'https://evil.example'), { ...CHECKS, state: 'state' })
      .catch((error: unknown) => error),
    { failure: 'refused' },
  );
});

t.test('Apple gets a secret that its key has signed', async (t) => {
  let body = '';
  const server = createServer(async (request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url === '/.well-known/openid-configuration') {
      const endpoints = { authorization_endpoint: `${issuer}/a`, token_endpoint: `${issuer}/t` };
      return response.end(JSON.stringify({ issuer, ...endpoints }));
    }
    for await (const chunk of request) body += chunk;
    return response.writeHead(400).end('{"error":"invalid_grant"}');
  });
  const issuer = `http://127.0.0.1:${await listen(t, server)}`;
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' })).replaceAll('\n', '\\n');
  const [provider] = readIdentityProviders([
    { preset: 'apple', issuer, client_id: 'us', team_id: 'team', key_id: 'key', private_key: pem },
  ]);
  if (provider === undefined) throw new Error('no provider');
  const client = createUpstreamClient(provider, US);
  t.match(await client.authorizationUrl('state', CHECKS), 'response_mode=form_post');
  const response = new Map([
    ['code', 'c'],
    ['state', 'state'],
  ]);
  t.match(await client.finish(response, { ...CHECKS, state: 'state' }).catch((error: unknown) => error), {
    failure: 'refused',
  });
  const secret = new URLSearchParams(body).get('client_secret') ?? '';
  t.match(decodeJwt(secret), { iss: 'team', sub: 'us', aud: issuer });
});
