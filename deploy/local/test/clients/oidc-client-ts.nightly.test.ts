import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { inChromium, openPage, type Page } from '@gatehouse/testing/chromium';
import type { UserManagerSettings } from 'oidc-client-ts';
import t from 'tap';
import { EVERY_SCOPE, startServer, untilDead } from './set-up.ts';

/** Where the demo's applications are. */
const PORT = 49152;
const ORIGIN = `http://127.0.0.1:${PORT}`;
/** The same pages, of one site with the server, so that its cookies come with what a frame of theirs loads. */
const SAME_SITE = `http://localhost:${PORT}`;

const BUNDLE = readFileSync(
  new URL('../../node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js', import.meta.url),
);
const PAGE = `<!doctype html><html lang="en"><title>An application</title>
<script src="/oidc-client-ts.js"></script>
<script type="module">
const { dpop, ...settings } = await (await fetch('/settings')).json();
if (dpop) settings.dpop = { bind_authorization_code: true, store: new oidc.IndexedDbDPoPStore() };
globalThis.manager = new oidc.UserManager(settings);
globalThis.otherTab = new oidc.UserManager(settings);
if (location.pathname === '/silent') await manager.signinSilentCallback();
document.body.append('ready');
</script>`;

type Settings = Omit<Partial<UserManagerSettings>, 'dpop'> & { dpop?: boolean };
/** What the page has of the person; oidc-client-ts's User. */
type User = {
  access_token: string;
  refresh_token?: string;
  token_type: string;
  scope: string;
  state?: unknown;
  profile: { sub: string; email?: string; updated_at?: string };
};

await inChromium(t, async (browser) => {
  const served = await servePages();
  const server = await startServer(t);
  const { demo, issuer } = server;
  const own = `/v1/users/${demo.user.user_id}`;
  const common: Settings = {
    authority: issuer,
    scope: EVERY_SCOPE,
    loadUserInfo: true,
    automaticSilentRenew: false,
  };

  /** A page of the application, in a browser in which nobody has signed in. */
  async function open(t: { teardown(fn: () => unknown): void }, origin: string, settings: Settings) {
    served.settings = { ...common, redirect_uri: `${origin}/callback`, ...settings };
    const { page } = await openPage(t, browser);
    await page.goto(`${origin}/`);
    await ready(page);
    return page;
  }

  /** Leaves for the sign-in, types, allows, and takes what comes back. */
  async function signIn(page: Page): Promise<User> {
    await leave(page, 'manager.signinRedirect({ state: { from: "here" } })', `${issuer}/sign-in/**`);
    await page.getByLabel('Username or email').fill(demo.user.username);
    await page.getByLabel('Password').fill(demo.user.password);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${issuer}/consent/**`);
    await page.locator('button').first().click();
    await page.waitForURL('**/callback?*');
    await ready(page);
    return page.evaluate<User>('manager.signinCallback()');
  }

  const silently = (page: Page, more = '') => page.evaluate<User>(`manager.signinSilent({ ${more} })`);

  /** The status of a request by the page itself, so that CORS stands between; or the browser's error. */
  const statusIn = (page: Page, url: string, options: object = {}) =>
    page.evaluate<number | string>(
      `fetch(${JSON.stringify(url)}, ${JSON.stringify(options)}).then(({ status }) => status, String)`,
    );

  t.test('sign-in, user info, rotated refresh tokens, revocation, sign-out', async (t) => {
    const { client_id } = await server.createApplication({
      name: 'Pages',
      type: 'spa',
      redirect_uris: [`${ORIGIN}/callback`],
      post_logout_redirect_uris: [`${ORIGIN}/signed-out`],
      scopes: EVERY_SCOPE.split(' '),
    });
    const settings = { client_id, post_logout_redirect_uri: `${ORIGIN}/signed-out` };
    const page = await open(t, ORIGIN, settings);
    const user = await signIn(page);
    t.match(user, {
      token_type: 'Bearer',
      scope: EVERY_SCOPE,
      refresh_token: String,
      state: { from: 'here' },
    });
    t.match(user.profile, { sub: demo.user.user_id, email: /@/, updated_at: /T.*Z$/ }, 'of user info, too');
    const bearer = { headers: { authorization: `Bearer ${user.access_token}` } };
    t.equal(await statusIn(page, issuer + own, bearer), 200);

    const renewed = await silently(page);
    t.not(renewed.access_token, user.access_token);
    t.match(renewed.refresh_token, String);
    t.not(renewed.refresh_token, user.refresh_token, 'rotated');
    const again = await silently(page);
    t.not(again.refresh_token, renewed.refresh_token, 'and the rotated one rotates');

    await page.evaluate('manager.revokeTokens(["access_token"])');
    await untilDead(server, own, again.access_token);
    t.equal(await server.statusOf(own, { token: renewed.access_token }), 200, 'only that one');
    const last = await silently(page);
    t.equal(await server.statusOf(own, { token: last.access_token }), 200);

    await leave(page, 'manager.signoutRedirect({ state: "after" })', `${issuer}/oauth2/logout?*`);
    await page.locator('button').first().click();
    await page.waitForURL(`${ORIGIN}/signed-out?*`);
    await ready(page);
    t.match(await page.evaluate('manager.signoutCallback()'), { userState: 'after' });
    for (const { access_token: token } of [user, renewed, last]) await untilDead(server, own, token);
    t.equal(await page.evaluate('manager.getUser()'), null);
    await leave(page, 'manager.signinRedirect()', `${issuer}/sign-in/**`);
    t.match(await page.title(), /Sign in/, 'the session is gone');
  });

  t.test('five pairs of refreshes at once, as by two tabs, keep the person signed in', async (t) => {
    const page = await open(t, ORIGIN, {
      client_id: demo.spa.client_id,
      redirect_uri: demo.spa.redirect_uri,
    });
    await signIn(page);
    for (let round = 0; round < 5; round += 1) {
      const both = await page.evaluate<User[]>(
        'Promise.all([manager.signinSilent(), otherTab.signinSilent()])',
      );
      t.equal(new Set(both.map(({ refresh_token }) => refresh_token)).size, 1);
      for (const { access_token: token } of both) t.equal(await server.statusOf(own, { token }), 200);
    }
  });

  t.test("the demo's spa: revoking the refresh token ends all", async (t) => {
    const page = await open(t, ORIGIN, {
      client_id: demo.spa.client_id,
      redirect_uri: demo.spa.redirect_uri,
    });
    const user = await signIn(page);
    await page.evaluate('manager.revokeTokens()');
    await untilDead(server, own, user.access_token);
    const bearer = { headers: { authorization: `Bearer ${user.access_token}` } };
    t.equal(await statusIn(page, issuer + own, bearer), 401, 'the page can read that');
    t.equal(await statusIn(page, `${issuer}/userinfo`, bearer), 401, 'and that');
  });

  t.test('a frame renews tokens on the same site, and gets an error on another', async (t) => {
    for (const origin of [SAME_SITE, ORIGIN]) {
      const { client_id } = await server.createApplication({
        name: 'Pages with a frame',
        type: 'spa',
        redirect_uris: [`${origin}/callback`, `${origin}/silent`],
        scopes: EVERY_SCOPE.split(' '),
      });
      const page = await open(t, origin, { client_id, silent_redirect_uri: `${origin}/silent` });
      const user = await signIn(page);
      const renewing = silently(page, 'forceIframeAuth: true');
      if (origin === SAME_SITE) {
        const renewed = await renewing;
        t.not(renewed.access_token, user.access_token);
        t.equal(renewed.profile.sub, demo.user.user_id);
      } else await t.rejects(renewing, /login_required|End-User authentication is required/);
    }
  });

  t.test('DPoP', async (t) => {
    const settings = { client_id: demo.spa.client_id, redirect_uri: demo.spa.redirect_uri, dpop: true };
    // oidc-client-ts asks for user info with Bearer only.
    const page = await open(t, ORIGIN, { ...settings, loadUserInfo: false });
    const user = await signIn(page);
    t.equal(user.token_type, 'DPoP');
    const headers = { authorization: `DPoP ${user.access_token}` };
    const url = issuer + own;
    const dpop = await page.evaluate<string>(
      `manager.getUser().then((user) => manager.dpopProof(${JSON.stringify(url)}, user, 'GET'))`,
    );
    t.equal(await statusIn(page, url, { headers: { ...headers, dpop } }), 200);
    t.equal(await statusIn(page, url, { headers }), 401);
    const renewed = await silently(page);
    t.equal(renewed.token_type, 'DPoP');
    t.not(renewed.refresh_token, user.refresh_token);
  });

  t.test('pages of another origin are kept out of what the application may ask', async (t) => {
    const page = await open(t, ORIGIN, {
      client_id: demo.spa.client_id,
      redirect_uri: demo.spa.redirect_uri,
    });
    const user = await signIn(page);
    const refresh = {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        client_id: demo.spa.client_id,
        refresh_token: 'none',
      }).toString(),
    };
    const bearer = { headers: { authorization: `Bearer ${user.access_token}` } };
    t.equal(await statusIn(page, `${issuer}/oauth2/token`, refresh), 400);
    t.equal(await statusIn(page, `${issuer}/userinfo`, bearer), 200);

    const stranger = await open(t, SAME_SITE, { client_id: demo.spa.client_id });
    t.match(await statusIn(stranger, `${issuer}/oauth2/token`, refresh), 'Failed to fetch');
    t.match(await statusIn(stranger, `${issuer}/userinfo`, bearer), 'Failed to fetch');
    t.equal(await statusIn(stranger, issuer + own, bearer), 200, 'the API is for any origin');
    t.equal(await statusIn(stranger, `${issuer}/.well-known/openid-configuration`), 200);
  });
});

/** An application that is only pages. What its UserManager is made with is read at each load. */
async function servePages(): Promise<{ settings: Settings }> {
  const served: { settings: Settings } = { settings: {} };
  const pages = createServer(({ url = '' }, response) => {
    const files: Record<string, [string, Buffer | string]> = {
      '/oidc-client-ts.js': ['text/javascript', BUNDLE],
      '/settings': ['application/json', JSON.stringify(served.settings)],
    };
    const [type, body] = files[url] ?? ['text/html', PAGE];
    response.setHeader('content-type', type).end(body);
  });
  pages.listen(PORT, '127.0.0.1');
  await once(pages, 'listening').catch((error: Error) => {
    throw new Error(`The demo's applications are at port ${PORT}, which must be free here: ${error.message}`);
  });
  t.teardown(() => {
    pages.closeAllConnections();
    pages.close();
  });
  return served;
}

async function ready(page: Page): Promise<void> {
  await page.getByText('ready').waitFor();
}

/** Runs what makes the page leave, and waits until it is there. */
async function leave(page: Page, script: string, url: string): Promise<void> {
  // Not to be waited for there, as what waits is gone with the page.
  await page.evaluate(`setTimeout(() => ${script})`);
  await page.waitForURL(url);
}
