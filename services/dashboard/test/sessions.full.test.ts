import { createConnection } from 'mongoose';
import t from 'tap';
import { dashboardSections } from '../src/navigation.ts';
import { createDashboardRouter } from '../src/routes/dashboard-router.ts';
import { signInRoutes } from '../src/routes/sign-in-routes.ts';
import { build, heading, PASSWORD } from './build.ts';

const COOKIE = 'gatehouse_dashboard_session';

/** The paths of all routes that take something other than GET, which only look at what they are made of when asked. */
function postPaths(): string[] {
  const sections = dashboardSections({ publicUrl: 'http://127.0.0.1' });
  const layers = [createDashboardRouter({ sections } as never), signInRoutes({} as never)].flatMap(
    ({ stack }) => stack,
  );
  return layers.flatMap(({ methods, path }) => (methods.includes('GET') ? [] : [String(path)]));
}

t.test('sessions of the dashboard', async (t) => {
  const built = await build(t);
  const { base, config } = built;
  const database = await createConnection(config.mongodbUri).asPromise();
  t.teardown(() => database.close());
  const sessions = database.collection<{ _id: string; sealed: string }>('sessions');
  const ask = (path: string, cookie: string, init: RequestInit = {}, origin = base) =>
    fetch(origin + path, { redirect: 'manual', ...init, headers: { cookie, ...init.headers } });

  await t.test(
    'whoever is not signed in is sent to sign in, and comes back to where they were going',
    async (t) => {
      const browser = built.browser();
      const signIn = await browser.get('/dashboard/items?q=col');
      t.match(signIn.url.pathname, /^\/sign-in\//);
      t.notMatch(signIn.html, 'Gatehouse dashboard', 'our own pages do not ask as an application');
      const page = await browser.submit(signIn, { username: 'ann', password: PASSWORD });
      t.equal(page.url.pathname + page.url.search, '/dashboard/items?q=col', 'without a consent');
      t.equal(heading(page), 'Items');
    },
  );

  await t.test('a session begins with a new id, whatever cookie the browser had', async (t) => {
    const planted = 'planted-by-somebody-else';
    const first = await built.signedIn('ann');
    const before = first.browser.cookies('/dashboard').get(COOKIE) ?? '';
    t.not(before, planted);
    t.equal(
      (await ask('/dashboard', `${COOKIE}=${planted}`)).status,
      303,
      'one that we did not give is none',
    );

    await first.browser.get('/dashboard/sign-in');
    const after = first.browser.cookies('/dashboard').get(COOKIE) ?? '';
    t.not(after, before, 'signing in again begins another');
    t.equal((await ask('/dashboard', `${COOKIE}=${before}`)).status, 303, 'and ends the one before');
    t.equal((await ask('/dashboard', `${COOKIE}=${after}`)).status, 200);
  });

  await t.test('a sign-in goes on to no other site', async (t) => {
    for (const to of [
      'https://elsewhere.example',
      '//elsewhere.example',
      '/\\elsewhere.example',
      '/dashboard/..//elsewhere.example',
    ]) {
      const browser = built.browser();
      const signIn = await browser.get(`/dashboard/sign-in?${new URLSearchParams({ to })}`);
      const page = await browser.submit(signIn, { username: 'ann', password: PASSWORD });
      t.equal(page.url.href, `${base}/dashboard`, to);
    }
  });

  await t.test('an answer to a sign-in counts only in the browser that asked', async (t) => {
    const attacker = built.browser();
    const begun = await fetch(`${base}/dashboard/sign-in`, { redirect: 'manual' });
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state');
    for (const query of [`code=x&state=${state}`, 'code=x&state=other', 'error=access_denied', '']) {
      const page = await attacker.get(`/dashboard/signed-in?${query}`);
      t.equal(page.status, 400, query);
      t.equal(heading(page), 'You are not signed in', query);
      t.notOk(attacker.cookies('/dashboard').has(COOKIE), query);
    }
  });

  await t.test(
    'cookies are out of reach of scripts and other sites, and tokens never leave the server',
    async (t) => {
      const { browser, page } = await built.signedIn('ann');
      const begun = await fetch(`${base}/dashboard/sign-in`, { redirect: 'manual' });
      t.match(begun.headers.get('set-cookie'), /; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/);
      const sent = [
        page.html,
        ...browser.cookies('/dashboard').values(),
        begun.headers.get('location') ?? '',
      ];
      for (const text of sent) t.notMatch(text, /eyJ[\w-]+\.eyJ/, 'no JWT');
      const stored = JSON.stringify(await sessions.find().toArray());
      t.notMatch(stored, /eyJ[\w-]+\.eyJ|refresh_token|ann@example/, 'what is stored is sealed');
      const cookie = browser.cookies('/dashboard').get(COOKIE) ?? '';
      t.notOk(stored.includes(cookie), 'and the cookie is stored as a hash');
    },
  );

  await t.test('a part of a page whose session has ended sends the whole page to sign in', async (t) => {
    const path = '/dashboard/items?q=col';
    const response = await ask(path, `${COOKIE}=gone`, { headers: { 'hx-request': 'true' } });
    t.equal(response.status, 204);
    t.equal(response.headers.get('hx-redirect'), `/dashboard/sign-in?${new URLSearchParams({ to: path })}`);
  });

  await t.test('another replica knows the session', async (t) => {
    const other = await built.replica();
    const { browser } = await built.signedIn('ann');
    const cookie = `${COOKIE}=${browser.cookies('/dashboard').get(COOKIE)}`;
    t.equal((await ask('/dashboard/items', cookie, {}, other)).status, 200);
  });

  await t.test('a form without the token of the session does nothing', async (t) => {
    const { browser, page } = await built.signedIn('ann');
    const { browser: stranger, page: theirs } = await built.signedIn('editor');
    t.ok(stranger);
    const cookie = `${COOKIE}=${browser.cookies('/dashboard').get(COOKIE)}`;
    const token = /name="csrf" value="([^"]+)"/.exec(page.html)?.[1] ?? '';
    const foreign = /name="csrf" value="([^"]+)"/.exec(theirs.html)?.[1] ?? '';
    const send = (path: string, csrf: string, more: Record<string, string> = {}, type?: string) =>
      ask(path, cookie, {
        method: 'POST',
        headers: { 'content-type': type ?? 'application/x-www-form-urlencoded', ...more },
        body: new URLSearchParams({ csrf, name: 'x', value: '1' }).toString(),
      });
    const upload = (path: string, csrf: string) => {
      const body = new FormData();
      body.set('csrf', csrf);
      body.set('file', new File(['name,price,currency\nx,1,EUR'], 'rows.csv'));
      return ask(path, cookie, { method: 'POST', body });
    };
    const forms = postPaths();
    t.ok(forms.includes('/dashboard/applications/:id/trust') && forms.includes('/dashboard/sign-out'));
    t.ok(forms.length > 30, `${forms.length} forms`);
    for (const path of forms) {
      for (const csrf of ['', 'x', foreign]) {
        const at = path.replaceAll(/:\w+/g, 'x_1');
        const takesFiles = /\/(?:import|branding)$/.test(path);
        const { status } = await (takesFiles ? upload(at, csrf) : send(at, csrf));
        t.equal(status, 403, `${path} with ${csrf.slice(0, 4)}`);
      }
    }
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', origin: 'null' },
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' },
    ]) {
      t.equal((await send('/dashboard/items/new', token, headers)).status, 403, JSON.stringify(headers));
    }
    t.equal((await send('/dashboard/items/new', token, { origin: 'null' })).status, 303);
    t.equal((await send('/dashboard/items/new', token, {}, 'text/plain')).status, 415);
    t.equal((await send('/dashboard/items/new', token)).status, 303, 'the right token does');
  });

  await t.test(
    'a token that has ended is exchanged for another; an ended grant ends the session',
    async (t) => {
      const { browser } = await built.signedIn('ann');
      // A change of the role ends the access token, and not the grant.
      await built.call('PUT', `/v2/users/${built.people.ann.id}/role`, 'admin', { role: 'editor' });
      const pages = await Promise.all([browser.get('/dashboard/users'), browser.get('/dashboard/items')]);
      t.same(pages.map(heading), ['Users', 'Items'], 'the new role counts at once');
      await built.call('PUT', `/v2/users/${built.people.ann.id}/role`, 'admin', { role: 'user' });
      t.equal((await browser.get('/dashboard/users')).status, 403);

      const count = await sessions.countDocuments();
      await built.call('PUT', `/v2/users/${built.people.ann.id}/status`, 'admin', { status: 'inactive' });
      const ended = await browser.get('/dashboard/items');
      t.match(ended.url.pathname, /^\/sign-in\//, 'whoever is deactivated has to sign in, and cannot');
      t.equal(await sessions.countDocuments(), count - 1);
      await built.call('PUT', `/v2/users/${built.people.ann.id}/status`, 'admin', { status: 'active' });
    },
  );

  await t.test('signing out ends the session, its tokens, and then that of identity', async (t) => {
    const { browser, page } = await built.signedIn('ann');
    const cookie = `${COOKIE}=${browser.cookies('/dashboard').get(COOKIE)}`;
    const confirm = await browser.submit(page, {}, '/dashboard/sign-out');
    t.equal(confirm.url.pathname, '/oauth2/logout');
    t.notMatch(confirm.url.href, 'id_token');
    t.equal((await ask('/dashboard', cookie)).status, 303);
    const out = await browser.submit(confirm, { logout: 'yes' });
    t.equal(out.url.pathname, '/dashboard/signed-out');
    t.equal(heading(out), 'You are signed out');
    t.match((await browser.get('/dashboard')).url.pathname, /^\/sign-in\//);
  });

  await t.test('signing out of the account ends the session of the dashboard', async (t) => {
    const { browser } = await built.signedIn('ann');
    await browser.submit(await browser.get('/account'), {}, '/account/sign-out');
    t.match((await browser.get('/dashboard/items')).url.pathname, /^\/sign-in\//);
  });
});
