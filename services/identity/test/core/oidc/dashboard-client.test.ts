import { decodeJwt } from 'jose';
import t from 'tap';
import { authorizeUrl, build, signInAndAllow } from '../../build.ts';

t.test('the dashboard as a client', async (t) => {
  const built = await build(t);
  const { base, serviceSecret, form, call } = built;
  const redirect_uri = `${base}/dashboard/signed-in`;
  const PKCE = {
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  };
  const code_verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
  const all = 'openid profile email read:users write:users read:data write:data read:all manage:apps';

  /** The tokens that somebody gets in the dashboard, and the browser that they used. */
  async function signIn(username: string, scope = all) {
    const browser = built.browser();
    const url = authorizeUrl({ client_id: 'dashboard', redirect_uri, scope, ...PKCE });
    let page = await browser.get(url);
    page = await browser.submit(page, { username, password: 'correct horse battery' });
    const code = page.url.searchParams.get('code') ?? '';
    const exchange = {
      grant_type: 'authorization_code',
      code,
      redirect_uri,
      code_verifier,
      client_id: 'dashboard',
    };
    const wrong = await form({ ...exchange, client_secret: 'wrong' });
    const { status, body } = await form({ ...exchange, client_secret: serviceSecret });
    return { browser, page, wrong: wrong.status, status, body };
  }

  await t.test('needs no consent, and its tokens manage applications within the role', async (t) => {
    for (const [username, readsAll] of [
      ['ann', false],
      ['admin', true],
    ] as const) {
      const { wrong, status, body, browser } = await signIn(username);
      t.same([wrong, status], [401, 200], username);
      const scopes = String(body.scope).split(' ');
      t.ok(scopes.includes('manage:apps'), username);
      t.equal(scopes.includes('read:all'), readsAll, username);
      const claims = decodeJwt(String(body.access_token));
      t.match(claims, { client_id: 'dashboard', roles: [username === 'ann' ? 'user' : 'admin'] });
      const token = String(body.access_token);
      t.equal((await call('GET', '/api/v1/applications', token)).status, 200);
      const refresh = { grant_type: 'refresh_token', refresh_token: String(body.refresh_token) };
      const renewed = await form({ ...refresh, client_id: 'dashboard', client_secret: serviceSecret });
      t.equal((await call('GET', '/api/v1/applications', String(renewed.body.access_token))).status, 200);
      t.notMatch(
        (await browser.get('/account/applications')).html,
        'Gatehouse dashboard',
        'it is no application',
      );
    }
  });

  await t.test('scopes that are not requested are not granted', async (t) => {
    const { body } = await signIn('ann', 'openid read:data');
    t.equal(body.scope, 'openid read:data');
    t.equal((await call('GET', '/api/v1/applications', String(body.access_token))).status, 403);
  });

  await t.test('no other application gets the scope, and no other address the code', async (t) => {
    const page = await signInAndAllow(
      built.browser(),
      authorizeUrl({ scope: 'openid read:data manage:apps' }),
    );
    const exchange = { grant_type: 'authorization_code', code: page.url.searchParams.get('code') ?? '' };
    const web = {
      client_id: 'app_web',
      client_secret: 'the-secret-of-the-web-application-in-tests',
      redirect_uri: 'https://web.example.org/callback',
    };
    const { body } = await form({ ...exchange, ...web });
    t.notMatch(String(body.scope), 'manage:apps');

    const elsewhere = authorizeUrl({ client_id: 'dashboard', redirect_uri: `${base}/elsewhere`, scope: all });
    t.equal((await built.browser().get(elsewhere)).status, 400);
  });
});
