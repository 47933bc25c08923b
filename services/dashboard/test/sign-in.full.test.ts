import type { FormBrowser } from '@gatehouse/testing/form-browser';
import { freePort, until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build, heading, PASSWORD } from './build.ts';

const SESSION = 'gatehouse_dashboard_session';
const header = (cookies: Map<string, string>) => [...cookies].map((it) => it.join('=')).join('; ');

t.test('sign-ins of the dashboard', async (t) => {
  const built = await build(t, { limited: true });
  const { base } = built;
  const ask = (url: string, cookie: string, headers: Record<string, string> = {}) =>
    fetch(new URL(url, base), { redirect: 'manual', headers: { cookie, ...headers } });
  const end = async (response: Response) => {
    await response.body?.cancel();
    return response;
  };
  /** Ends the access token of somebody, and not the grant, so that the next page needs another. */
  const changeRole = (username: 'ann' | 'editor', role: string) =>
    built.call('PUT', `/v2/users/${built.people[username].id}/role`, 'admin', { role });

  /** The entries of the audit log with an action, some of which are written a moment later. */
  async function recorded(action: string, filter: string): Promise<unknown[]> {
    let entries: unknown[] = [];
    const path = `/api/v1/audit?filter[action]=${action}&${filter}`;
    await until(async () => {
      entries = (await built.call<{ data: unknown[] }>('GET', path)).body.data;
      return entries.length > 0;
    }, 10_000);
    return entries;
  }

  /** The response to a sign-in with somebody's cookies of identity, in a browser with a session of the dashboard. */
  async function signInAgain(ofIdentity: FormBrowser, session: string): Promise<Response> {
    const begun = await end(await ask('/dashboard/sign-in', session));
    const [pending = ''] = begun.headers.getSetCookie()[0]?.split(';') ?? [];
    const known = header(ofIdentity.cookies('/oauth2/authorize'));
    const reply = await end(await ask(begun.headers.get('location') ?? '', known));
    return end(await ask(reply.headers.get('location') ?? '', `${session}; ${pending}`));
  }

  await t.test('signing in while signed in leaves the new session its tokens', async (t) => {
    const { browser } = await built.signedIn('ann');
    const before = `${SESSION}=${browser.cookies('/dashboard').get(SESSION)}`;
    const finished = await signInAgain(browser, before);
    const [after = ''] = finished.headers.getSetCookie().at(-1)?.split(';') ?? [];
    t.equal((await end(await ask('/dashboard/items', before))).status, 303, 'the session before has ended');
    t.equal((await end(await ask('/dashboard/items', after))).status, 200, 'the new one works');
    await changeRole('ann', 'editor');
    t.equal((await end(await ask('/dashboard/users', after))).status, 200, 'also with further tokens');
    await changeRole('ann', 'user');
  });

  await t.test('signing in as somebody else ends what the browser had before', async (t) => {
    const { browser } = await built.signedIn('ann');
    const { browser: other } = await built.signedIn('editor');
    const before = `${SESSION}=${browser.cookies('/dashboard').get(SESSION)}`;
    const finished = await signInAgain(other, before);
    t.equal(finished.headers.get('location'), '/dashboard');
    t.equal((await end(await ask('/dashboard', before))).status, 303);
    t.match(
      await recorded('token.revoked', `filter[subject]=${built.people.ann.id}`),
      [{}],
      'and its tokens',
    );
  });

  await t.test('several tabs sign in at once, each for its own page', async (t) => {
    const { browser } = await built.signedIn('ann');
    const known = browser.cookies('/oauth2/authorize');
    known.delete(SESSION);
    const jar = new Map<string, string>();
    const store = (response: Response) => {
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        if (value === '') jar.delete(name);
        else jar.set(name, value);
      }
    };
    const paths = ['/dashboard/items', '/dashboard/orders', '/dashboard/products', '/dashboard/applications'];
    const begun: string[] = [];
    for (const to of paths) {
      const response = await end(await ask(`/dashboard/sign-in?to=${to}`, header(jar)));
      store(response);
      begun.push(response.headers.get('location') ?? '');
    }
    const foreign = await ask('/dashboard/signed-in?code=x&state=other', header(jar));
    t.equal(foreign.status, 400);
    store(foreign);
    const reached: (string | null)[] = [];
    for (const authorize of begun) {
      const reply = await end(await ask(authorize, header(known)));
      const response = await end(await ask(reply.headers.get('location') ?? '', header(jar)));
      store(response);
      reached.push(response.headers.get('location'));
    }
    t.same(reached, paths);
    const ended = await end(await ask('/dashboard/items', `${SESSION}=ended`));
    t.same([ended.status, ended.headers.getSetCookie()], [303, []], 'one that is late takes nothing away');
    t.same([...jar.keys()], [SESSION], 'nothing of the sign-ins is left');
    const late = await ask('/dashboard/signed-in?code=x&state=other', header(jar));
    t.equal(late.headers.get('location'), '/dashboard', 'who is signed in is not told otherwise');
  });

  await t.test('sign-ins that nobody finishes never fill the header of a request', async (t) => {
    const browser = built.browser();
    const to = `/dashboard/items?q=${'x'.repeat(1900)}`;
    for (let i = 0; i < 8; i += 1) await browser.get(`/dashboard/sign-in?to=${encodeURIComponent(to)}`);
    const sent = header(browser.cookies('/dashboard'));
    t.ok(sent.length < 9000, `${sent.length} bytes`);
    const page = await browser.submit(await browser.get(`/dashboard/sign-in?to=/dashboard/items`), {
      username: 'ann',
      password: PASSWORD,
    });
    t.equal(heading(page), 'Items', 'and the last can be finished');
  });

  await t.test('actions in the dashboard are recorded with the browser', async (t) => {
    const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
    const address = '203.0.113.20';
    const { browser, page } = await built.signedIn('editor', {
      'user-agent': agent,
      'x-forwarded-for': address,
    });
    const choice = await browser.get('/dashboard/applications/new?type=machine');
    await browser.submit(choice, { name: 'Recorded', scopes: 'read:data' }, 'name="name"');
    await browser.submit(page, {}, '/dashboard/sign-out');
    for (const action of ['application.created', 'token.revoked']) {
      const entries = await recorded(action, `filter[address]=${address}`);
      t.match(entries, [{ action, address, user_agent: agent }]);
    }
  });

  await t.test('while identity is away, pages and sign-ins say so', async (t) => {
    const away = `http://127.0.0.1:${await freePort()}`;
    const other = await built.replica({ serviceUrls: { ...built.config.serviceUrls, identity: away } });
    const { browser } = await built.signedIn('ann');
    await changeRole('ann', 'editor');
    const cookie = header(browser.cookies('/dashboard'));
    const begun = await end(await ask(`${other}/dashboard/sign-in`, ''));
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state');
    const [pending = ''] = begun.headers.getSetCookie()[0]?.split(';') ?? [];
    const reply = new URLSearchParams({ code: 'x'.repeat(43), state: state ?? '', iss: base });
    const cases: [path: string, cookie: string][] = [
      ['/dashboard/items', cookie],
      [`/dashboard/signed-in?${reply}`, pending],
    ];
    for (const [path, sent] of cases) {
      const response = await ask(other + path, sent);
      t.equal(response.status, 503, path);
      t.ok(response.headers.has('retry-after'), path);
      t.match(await response.text(), 'The dashboard is temporarily unavailable', path);
      t.same(response.headers.getSetCookie(), [], 'loading it again may help');
    }
    t.equal((await browser.get('/dashboard/items')).status, 200);
    await changeRole('ann', 'user');
  });

  await t.test('requests of strangers count for their own address', async (t) => {
    const { browser: known } = await built.signedIn('ann', { 'x-forwarded-for': '203.0.113.8' });
    const session = known.cookies('/dashboard').get(SESSION);
    const strangers = { 'x-forwarded-for': '198.51.100.1' };
    const begun = await end(await ask('/dashboard/sign-in', '', strangers));
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state');
    const [pending = ''] = begun.headers.getSetCookie()[0]?.split(';') ?? [];
    // All that the dashboard's own address, and this stranger's, may fail at in a minute.
    const fail = (headers: Record<string, string>) =>
      fetch(`${base}/oauth2/token`, { method: 'POST', headers });
    for (let i = 0; i < 600; i += 1) {
      for (const headers of [{}, strangers]) await end(await fail(headers));
    }
    t.equal((await end(await fail({}))).status, 429);
    t.equal((await end(await fail(strangers))).status, 429);

    const { page } = await built.signedIn('ann', { 'x-forwarded-for': '203.0.113.7' });
    t.equal(heading(page), 'Overview', 'others sign in');
    await changeRole('ann', 'editor');
    t.equal(heading(await known.get('/dashboard/users')), 'Users');
    t.equal(known.cookies('/dashboard').get(SESSION), session, 'and stay signed in');
    const reply = new URLSearchParams({ code: 'x'.repeat(43), state: state ?? '', iss: base });
    const refused = await ask(`/dashboard/signed-in?${reply}`, pending, strangers);
    t.equal(refused.status, 503, 'a limit is no cancelled sign-in');
    t.ok(Number(refused.headers.get('retry-after')) > 1);
  });
});
