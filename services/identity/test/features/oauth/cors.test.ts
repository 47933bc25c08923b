import t from 'tap';
import { build, MACHINE, SPA } from '../../build.ts';
import { pkce, tokensFor } from '../../tokens.ts';

const built = await build(t);
const { base } = built;
const OWN = new URL(SPA.redirect_uri).origin;
const STRANGER = 'https://evil.example';
const FORM = 'application/x-www-form-urlencoded';
const browser = built.browser();
const { access_token, refresh_token } = await tokensFor(built, { browser, client: SPA });

async function ask(path: string, init: RequestInit & { headers: Record<string, string> }) {
  const response = await fetch(base + path, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
}
const allowed = ({ headers }: { headers: Headers }) => headers.get('access-control-allow-origin');

t.test('preflights', async (t) => {
  for (const [path, method, headers] of [
    ['/oauth2/token', 'POST', 'dpop'],
    ['/oauth/token', 'POST', 'content-type,dpop'],
    ['/oauth2/revoke', 'POST', 'content-type'],
    ['/oauth2/register', 'POST', 'authorization,content-type'],
    ['/oauth2/register/app_1', 'PUT', 'authorization,content-type'],
    ['/userinfo', 'GET', 'authorization,dpop'],
    ['/.well-known/openid-configuration', 'GET', 'x-request-id'],
    ['/.well-known/jwks.json', 'GET', 'x-request-id'],
    ['/.well-known/oauth-protected-resource/api', 'GET', 'mcp-protocol-version'],
    ['/api/v1/auth/status', 'GET', 'authorization'],
    ['/api/v1/auth/login', 'POST', 'content-type'],
  ] as const) {
    const reply = await ask(path, {
      method: 'OPTIONS',
      headers: {
        origin: OWN,
        'access-control-request-method': method,
        'access-control-request-headers': headers,
      },
    });
    t.equal(reply.status, 204, path);
    t.match(allowed(reply), /^(?:\*|https:\/\/spa\.example\.org)$/, path);
    t.match(reply.headers.get('access-control-allow-methods'), method, path);
    if (path.startsWith('/.well-known')) continue;
    const taken = reply.headers.get('access-control-allow-headers')?.toLowerCase().split(/, ?/) ?? [];
    t.ok(
      headers.split(',').every((header) => taken.includes(header)),
      `${path}: ${taken}`,
    );
    t.notOk(reply.headers.has('access-control-allow-credentials'), path);
  }
});

t.test('the token endpoint and revocation: the pages of the application, and no other', async (t) => {
  const requests = (origin: string) => {
    const { code_verifier } = pkce();
    const body = { grant_type: 'authorization_code', code: 'x', code_verifier, ...SPA };
    const revocation = { token: 'x', client_id: SPA.client_id };
    const form = (fields: Record<string, string>) => ({
      method: 'POST',
      headers: { origin, 'content-type': FORM },
      body: new URLSearchParams(fields).toString(),
    });
    const asJson = (fields: Record<string, string>) => ({
      method: 'POST',
      headers: { origin, 'content-type': 'application/json' },
      body: JSON.stringify(fields),
    });
    return [
      ['token as a form', '/oauth2/token', form(body)],
      ['token as JSON', '/oauth/token', asJson(body)],
      ['revocation', '/oauth2/revoke', form(revocation)],
      ['revocation as JSON', '/oauth2/revoke', asJson(revocation)],
    ] as const;
  };
  for (const [name, path, init] of requests(OWN)) {
    const reply = await ask(path, init);
    t.equal(allowed(reply), OWN, name);
    t.match(reply.headers.get('vary'), /origin/i, name);
    t.notOk(reply.headers.has('access-control-allow-credentials'), name);
    if (name.startsWith('token')) t.match(reply.text, /invalid_grant/, `${name}: errors can be read`);
  }
  for (const origin of [STRANGER, 'null', 'https://spa.example.org.evil.example', 'http://spa.example.org']) {
    for (const [name, path, init] of requests(origin)) {
      const reply = await ask(path, init);
      t.equal(allowed(reply), null, `${name} from ${origin}`);
      t.equal(reply.status, 400, `${name} from ${origin}`);
    }
  }
  const stranger = await ask('/oauth2/token', {
    method: 'POST',
    headers: { origin: STRANGER, 'content-type': FORM },
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token,
      client_id: SPA.client_id,
    }).toString(),
  });
  t.equal(stranger.status, 400);
  t.notMatch(stranger.text, /access_token/);
  t.equal((await ask('/userinfo', { headers: { authorization: `Bearer ${access_token}` } })).status, 200);
  const machine = await ask('/oauth2/token', {
    method: 'POST',
    headers: { origin: OWN, 'content-type': FORM },
    body: new URLSearchParams({ grant_type: 'client_credentials', ...MACHINE }).toString(),
  });
  t.equal(machine.status, 400, 'a secret does not belong into a page');
  t.equal(allowed(machine), null);
});

t.test('/userinfo', async (t) => {
  const authorization = `Bearer ${access_token}`;
  const own = await ask('/userinfo', { headers: { authorization, origin: OWN } });
  t.equal(own.status, 200);
  t.equal(allowed(own), OWN);
  t.match(own.headers.get('vary'), /origin/i);
  const stranger = await ask('/userinfo', { headers: { authorization, origin: STRANGER } });
  t.equal(allowed(stranger), null);
  const dead = await ask('/userinfo', { headers: { authorization: 'Bearer x', origin: OWN } });
  t.equal(dead.status, 401);
  t.equal(allowed(dead), OWN, 'a page can read that its token is dead');
  t.match(dead.headers.get('access-control-expose-headers'), /WWW-Authenticate/);
  for (const reply of [own, stranger, dead]) {
    t.notOk(reply.headers.has('access-control-allow-credentials'));
  }
});

t.test('pages are for nobody’s script', async (t) => {
  for (const path of ['/oauth2/authorize', '/oauth2/logout', '/account', '/sign-in/x']) {
    const reply = await ask(path, { headers: { origin: OWN, accept: 'text/html' }, redirect: 'manual' });
    t.equal(allowed(reply), null, path);
  }
});
