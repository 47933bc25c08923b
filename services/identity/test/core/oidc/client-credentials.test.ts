import { decodeJwt, decodeProtectedHeader } from 'jose';
import t, { type Test } from 'tap';
import { build, MACHINE, ownApplication, WEB } from '../../build.ts';

// Tokens for client credentials are issued by core/oidc/client-credentials.ts or by oidc-provider: nobody may see which. A
// parameter that oidc-provider ignores makes it the one that answers.

const BOUND = { client_id: 'app_bound', client_secret: 'the-secret-of-an-application-with-dpop-tests' };
const PINNED = { client_id: 'app_pinned', client_secret: 'the-secret-of-a-pinned-application-for-tests' };
const EMPTY = { client_id: 'app_empty', client_secret: 'the-secret-of-one-without-any-scope-in-tests' };
const UNKNOWN = { client_id: 'app_unknown', client_secret: 'the-secret-of-an-application-that-is-missing' };

const trusted = ({ client_id, client_secret: clientSecret }: typeof BOUND) =>
  ownApplication(client_id, { clientSecret, scopes: ['read:users', 'write:users'] });
const { base, createApplication, login } = await build(t, {
  applications: [
    { ...trusted(BOUND), dpopBound: true },
    { ...trusted(PINNED), profiles: { v2_users: 'B1' } },
    { ...trusted(EMPTY), scopes: [] },
  ],
});

type Sent = { fields: Record<string, string>; headers?: Record<string, string>; path?: string };

const basicOf = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});
const WAYS: Record<string, (id: string, secret: string) => Sent> = {
  form: (client_id, client_secret) => ({ fields: { client_id, client_secret } }),
  'form at the JSON path': (client_id, client_secret) => ({
    ...{ fields: { client_id, client_secret }, path: '/oauth/token' },
  }),
  Basic: (id, secret) => ({ fields: {}, headers: basicOf(id, secret) }),
  'Basic, percent-encoded': (id, secret) => ({
    fields: {},
    headers: basicOf(id.replaceAll('_', '%5F'), secret),
  }),
  'Basic and client_id': (client_id, secret) => ({
    fields: { client_id },
    headers: basicOf(client_id, secret),
  }),
  'Basic and another client_id': (id, secret) => ({
    ...{ fields: { client_id: MACHINE.client_id }, headers: basicOf(id, secret) },
  }),
  'Basic and form': (client_id, client_secret) => ({
    ...{ fields: { client_id, client_secret }, headers: basicOf(client_id, client_secret) },
  }),
  'no secret': (client_id) => ({ fields: { client_id } }),
};
const ASKED: Record<string, Sent> = {
  'no scope': { fields: {} },
  'an empty scope': { fields: { scope: '' } },
  'one scope': { fields: { scope: 'read:users' } },
  'in another order': { fields: { scope: 'write:users read:users' } },
  'a scope twice': { fields: { scope: 'read:users read:users' } },
  'spaces around a scope': { fields: { scope: ' read:users ' } },
  'more than allowed': { fields: { scope: 'read:users openid' } },
  'the API as resource': { fields: { resource: `${base}/api` } },
  'another resource': { fields: { resource: 'https://other.example.org' } },
  'from a page': { fields: {}, headers: { origin: 'https://page.example.org' } },
};
/** What differs in every response, and what oidc-provider adds for pages of other origins, which have their row above. */
const NOT_COMPARED = /^(?:date|x-request-id|content-length|connection|keep-alive|vary|access-control-.*)$/;

/** The ids of the tokens that core/oidc/client-credentials.ts issues. */
const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

async function send({ fields, headers, path = '/oauth2/token' }: Sent) {
  const response = await fetch(base + path, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams({ grant_type: 'client_credentials', ...fields }),
  });
  const { access_token: token, ...body } = (await response.json()) as Record<string, unknown>;
  const { jti, iat = 0, exp = 0, ...claims } = token === undefined ? {} : decodeJwt(String(token));
  return {
    jti,
    seen: {
      ...{ status: response.status, body, claims, lifetime: exp - iat },
      header: token === undefined ? undefined : decodeProtectedHeader(String(token)),
      headers: [...response.headers].filter(([name]) => !NOT_COMPARED.test(name)),
    },
  };
}

/** Sends a request in both ways; returns whether the first was answered without oidc-provider. */
async function compare(t: Test, label: string, sent: Sent): Promise<boolean> {
  const others = { ...sent, fields: { ...sent.fields, ignored: '1' } };
  const [plain, byProvider] = await Promise.all([send(sent), send(others)]);
  t.same(plain.seen, byProvider.seen, label);
  const isDirect = ({ jti }: { jti?: unknown }) => UUID.test(String(jti));
  if (isDirect(byProvider)) t.fail(`oidc-provider was to answer: ${label}`);
  return isDirect(plain);
}

t.test('every request has the same response in both ways', async (t) => {
  // Its owner's role is its ceiling.
  const draft = { name: 'Ours', type: 'machine', scopes: ['read:users'] };
  const owned = await createApplication(await login(), draft);
  const direct = new Map<string, number>();
  for (const client of [MACHINE, owned, PINNED, BOUND, EMPTY, UNKNOWN, WEB]) {
    for (const secret of [client.client_secret, `${client.client_secret}x`]) {
      for (const [way, authenticated] of Object.entries(WAYS)) {
        const { fields, headers, path } = authenticated(client.client_id, secret);
        // What is asked for does not matter when the secret is wrong.
        const requests = Object.entries(ASKED).slice(0, secret === client.client_secret ? undefined : 1);
        const results = requests.map(([name, asked]) =>
          compare(t, `${client.client_id}, ${way}, ${name}`, {
            fields: { ...fields, ...asked.fields },
            headers: { ...headers, ...asked.headers },
            ...(path === undefined ? {} : { path }),
          }),
        );
        for (const isDirect of await Promise.all(results)) {
          if (isDirect) direct.set(client.client_id, (direct.get(client.client_id) ?? 0) + 1);
        }
      }
    }
  }
  t.same(
    [...direct.keys()],
    [MACHINE, owned, PINNED].map(({ client_id }) => client_id),
  );
  for (const [client, count] of direct) t.ok(count >= 12, `${client}: ${count} were answered directly`);
});
