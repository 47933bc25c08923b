import { once } from 'node:events';
import { createServer } from 'node:http';
import { type Browser, inChromium, type Page, startChromium } from '@gatehouse/testing/chromium';
import { until } from '@gatehouse/testing/processes';
import t, { type Test } from 'tap';
import { ALL_SCOPES, authorizeUrl, build, NATIVE, ownApplication, PASSWORD, WEB } from '../../build.ts';
import { linkTo } from '../../pages.ts';

type BrowserContext = Awaited<ReturnType<Browser['newContext']>>;

/** Applications are at addresses that nobody serves, and no test asks the world for them. */
const NO_WORLD = ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'];

const PKCE = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' };

await inChromium(t, signInPages, { args: NO_WORLD });

async function signInPages(chromium: Browser, path: string): Promise<void> {
  const application = await anApplication(t);
  const toApplication = (more: Record<string, string> = {}) =>
    authorizeUrl({ client_id: 'app_local', redirect_uri: application.callback, ...more });
  const built = await build(t, {
    applications: [
      ownApplication('app_phone', {
        type: 'native',
        trusted: false,
        redirectUris: ['com.example.phone:/callback'],
        scopes: ['openid'],
      }),
      ownApplication('app_local', {
        type: 'web',
        trusted: false,
        redirectUris: [application.callback],
        scopes: ALL_SCOPES,
      }),
    ],
  });
  const interactions = (await built.database()).collection('oidc_interactions');
  const url = (address: string) => new URL(address, built.base).href;

  /** A browser of its own, and what it complained about on the way. */
  async function visit(
    t: Test,
    options: Parameters<Browser['newContext']>[0] = {},
    from: Browser = chromium,
  ) {
    const context = await from.newContext({ locale: 'en-GB', ...options });
    t.teardown(() => context.close());
    const complaints: string[] = [];
    watch(context, complaints);
    const page = await context.newPage();
    return { context, page, complaints };
  }

  const title = (page: Page) => page.locator('h1').textContent();

  async function fillIn(page: Page, username = 'ann', password = PASSWORD): Promise<void> {
    await page.fill('#username', username);
    await page.fill('#password', password);
    await page.click('button.primary');
  }

  /** Waits until the browser is back at the application, and gives what it brought. */
  async function leaving(page: Page, action: () => Promise<unknown>): Promise<URLSearchParams> {
    await action();
    await page.waitForURL(`${application.callback}?*`);
    return new URL(page.url()).searchParams;
  }

  for (const javaScriptEnabled of [true, false]) {
    t.test(`the whole way, ${javaScriptEnabled ? 'with' : 'without'} script`, async (t) => {
      const { page, complaints } = await visit(t, { javaScriptEnabled });
      await page.goto(url(toApplication()));
      t.equal(await title(page), 'Sign in');
      await fillIn(page, 'ann', 'wrong');
      t.match(await page.locator('[role=alert]').textContent(), /do not match/);
      t.equal(await page.inputValue('#username'), 'ann');
      t.equal(await page.inputValue('#password'), '');
      await fillIn(page);
      await page.waitForURL('**/consent/*');
      const refused = await leaving(page, () => page.click('button:has-text("Do not allow")'));
      t.match(Object.fromEntries(refused), {
        error: 'access_denied',
        state: 'some-state',
        iss: built.base,
      });

      await page.goto(url(toApplication()));
      t.equal(new URL(page.url()).pathname.startsWith('/consent/'), true);
      const allowed = await leaving(page, () => page.click('button.primary'));
      t.ok(allowed.get('code'));
      const again = await leaving(page, () => page.goto(url(toApplication({ state: 'two' }))));
      t.equal(again.get('state'), 'two', 'nothing is asked twice');

      await page.goto(url(toApplication({ prompt: 'consent' })));
      await page.click('text=Use another account');
      t.equal(await title(page), 'Sign in');
      await fillIn(page, 'admin');
      await page.waitForURL('**/consent/*');
      t.match(await page.locator('.account').textContent(), /admin@example\.org/);
      const other = await leaving(page, () => page.click('button.primary'));
      t.ok(other.get('code'));

      await page.goto(url('/account'));
      await page.click('nav >> text=Sessions');
      t.equal(await title(page), 'Sessions');
      await page.goto(url('/oauth2/logout'));
      await page.click('button:has-text("Sign out")');
      t.equal(await title(page), 'You are signed out');
      await page.goto(url('/oauth2/logout'));
      t.equal(await title(page), 'You are signed out', 'twice is no fault');
      t.strictSame(complaints, []);
    });
  }

  t.test('the way back to every kind of application is open', async (t) => {
    const loopback = 'http://127.0.0.1:9/callback';
    const phone = 'com.example.phone:/callback';
    for (const [name, more, to] of [
      ['https', { client_id: WEB.client_id, redirect_uri: WEB.redirect_uri }, WEB.redirect_uri],
      ['loopback, any port', { client_id: NATIVE.client_id, redirect_uri: loopback, ...PKCE }, loopback],
      [
        'a scheme of its own',
        { client_id: 'app_phone', redirect_uri: phone, scope: 'openid', ...PKCE },
        phone,
      ],
    ] as const) {
      const { page, complaints } = await visit(t);
      await page.goto(url(authorizeUrl(more)));
      await fillIn(page);
      await page.waitForURL('**/consent/*');
      // Nobody is there; and a scheme that the system has no program for makes no request.
      const gone = page.waitForEvent('requestfailed', (request) => request.isNavigationRequest());
      const sent = page.waitForResponse((it) => (it.headers().location ?? '').startsWith(`${to}?`));
      await page.click('button.primary');
      t.match((await sent).headers().location, /[?&]code=/, name);
      t.not((await gone).failure()?.errorText, 'net::ERR_BLOCKED_BY_CSP', name);
      t.strictSame(complaints, [], name);
      await page.close();
    }
  });

  t.test('by keyboard alone', async (t) => {
    const { page, complaints } = await visit(t);
    const focused = () => page.evaluate('document.activeElement.name || document.activeElement.innerText');
    await page.goto(url(toApplication()));
    t.equal(await focused(), 'username', 'the first field has the focus');
    await page.keyboard.type('ann');
    await page.keyboard.press('Tab');
    t.equal(await focused(), 'password');
    await page.keyboard.type('wrong');
    await page.keyboard.press('Enter');
    await page.waitForSelector('[role=alert]');
    t.equal(await focused(), 'password', 'the name is there, the password is to be entered');
    t.match(await page.title(), /^Error: /);
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Tab');
    t.equal(await focused(), 'Show password');
    await page.keyboard.press('Enter');
    t.equal(await focused(), 'Hide password');
    t.equal(await page.getAttribute('#password', 'type'), 'text');
    await page.keyboard.press('Tab');
    t.equal(await focused(), 'Sign in');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/consent/*');
    const stops = [];
    for (let i = 0; i < 3; i += 1) {
      await page.keyboard.press('Tab');
      stops.push(await focused());
      const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
      t.equal(outline, 'solid', 'and one sees where it is');
    }
    t.strictSame(stops, ['Not you? Use another account', 'decision', 'decision']);
    await page.keyboard.press('Shift+Tab');
    const gone = await leaving(page, () => page.keyboard.press('Enter'));
    t.ok(gone.get('code'));

    await page.goto(url('/account'));
    await page.keyboard.press('Tab');
    t.equal(await focused(), 'Skip to the content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    t.equal(await focused(), 'name');
    await page.goto(url(toApplication({ prompt: 'login', login_hint: 'ann' })));
    t.equal(await focused(), 'password');
    const cancelled = await leaving(page, async () => {
      for (let i = 0; i < 3; i += 1) await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
    });
    t.equal(cancelled.get('error'), 'access_denied');
    t.strictSame(complaints, []);
  });

  /**
   * Playwright's own way waits for ever for a page that was kept, and its waiting for a function evaluates in the page,
   * which the policy of our pages forbids.
   */
  async function back(page: Page, way: 'back' | 'forward' = 'back'): Promise<void> {
    const before = page.url();
    await page.evaluate(`setTimeout(() => history.${way}())`);
    const isThere = `location.href !== ${JSON.stringify(before)} && document.readyState === 'complete' && !!document.querySelector('h1')`;
    // A page that is just being left answers nothing.
    await until(() => page.evaluate<boolean>(isThere).catch(() => false), 15_000);
  }

  t.test('the back button', async (t) => {
    // Chromium keeps pages for going back, unless a test switches that off; some of them with no-store, too.
    const real = await startChromium(t, path, {
      args: NO_WORLD,
      ignoreDefaultArgs: ['--disable-back-forward-cache'],
    });
    const { page, complaints } = await visit(t, {}, real);
    await page.goto(url(toApplication()));
    await fillIn(page);
    await page.waitForURL('**/consent/*');
    await back(page);
    t.equal(await title(page), 'This sign-in has expired', 'after signing in');
    await back(page, 'forward');
    t.match(await title(page), /^Allow this application/, 'and forward it goes on');
    await leaving(page, () => page.click('button.primary'));
    await back(page);
    t.equal(await title(page), 'This sign-in has expired', 'after allowing');

    await page.goto(url('/account/sessions'));
    await page.goto(url('/account'));
    t.equal(await page.inputValue('#email'), 'ann@example.org');
    await page.click('button:has-text("Sign out")');
    t.equal(await title(page), 'You are signed out');
    for (let i = 0; i < 2; i += 1) {
      await back(page);
      t.equal(await title(page), 'Sign in', 'no page of the account comes back');
      t.notMatch(await page.content(), 'ann@example.org');
    }
    t.strictSame(complaints, []);
  });

  t.test('expired, finished elsewhere, tampered with', async (t) => {
    const { page, context, complaints } = await visit(t);
    await page.goto(url(toApplication()));
    const tab = await context.newPage();
    await tab.goto(url(toApplication({ state: 'tab' })));
    await fillIn(page);
    await page.waitForURL('**/consent/*');
    await fillIn(tab);
    await tab.waitForURL('**/consent/*');
    const first = await leaving(page, () => page.click('button.primary'));
    const second = await leaving(tab, () => tab.click('button.primary'));
    t.strictSame([first.get('state'), second.get('state')], ['some-state', 'tab']);

    await page.goto(url(toApplication({ prompt: 'login' })));
    await page.evaluate(`document.querySelector('[name=csrf]').value = 'x'`);
    await fillIn(page);
    t.equal(await title(page), 'This page has expired');
    await page.goBack();
    t.match(
      (await leaving(page, () => fillIn(page))).get('code'),
      /./,
      'to go back and send it again is enough',
    );

    await page.goto(url(toApplication({ prompt: 'login' })));
    await interactions.deleteMany({});
    await fillIn(page);
    t.equal(await title(page), 'This sign-in has expired');
    await page.click('text=Go to your account');
    t.equal(await title(page), 'Profile');

    await context.clearCookies();
    await page.goto(url(toApplication()));
    await context.clearCookies();
    await fillIn(page);
    t.equal(await title(page), 'This sign-in has expired', 'without cookies');
    t.strictSame(complaints, []);
  });

  t.test('a page of another site', async (t) => {
    const { page, context } = await visit(t);
    await page.goto(url('/account'));
    await fillIn(page);
    await page.waitForSelector('#email');
    const csrf = await page.getAttribute('[name=csrf]', 'value');
    await context.route('https://evil.example/**', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<iframe src="${url('/account')}"></iframe>
<form method="post" action="${url('/account/sign-out')}"><input name="csrf" value="${csrf}"><button>go</button></form>`,
      }),
    );
    await page.goto('https://evil.example/');
    await page.waitForTimeout(200);
    const framed = page.frames().map((frame) => frame.url());
    t.notOk(framed.includes(url('/account')), 'shows none of ours in a frame');
    await page.click('button');
    t.equal(await title(page), 'This page has expired');
    await page.goto(url('/account'));
    t.equal(await title(page), 'Profile', 'and signs nobody out');
  });

  t.test('every page on a phone, in the dark, with large letters', async (t) => {
    const { page, complaints } = await visit(t, {
      viewport: { width: 320, height: 640 },
      colorScheme: 'dark',
      isMobile: true,
      hasTouch: true,
    });
    const long = `${'a'.repeat(60)}@example.org`;
    await interactions.deleteMany({});

    async function look(name: string): Promise<void> {
      for (const size of ['100%', '200%']) {
        await page.evaluate(`document.documentElement.style.fontSize = '${size}'`);
        const wide = await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        );
        t.equal(wide, 0, `${name}, ${size}: nothing has to be pushed sideways`);
      }
      await page.evaluate(`document.documentElement.style.fontSize = ''`);
      const ground = await page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
      t.equal(ground, 'rgb(16, 23, 21)', `${name}: dark`);
      // WCAG 2.2 §2.5.8: what one presses is large enough for a finger.
      const low =
        await page.evaluate(`[...document.querySelectorAll('button, input:not([type=hidden], [hidden])')]
        .filter((it) => it.getBoundingClientRect().height < 44).map((it) => it.outerHTML)`);
      t.strictSame(low, [], name);
    }

    await page.goto(url(toApplication({ login_hint: long })));
    await look('sign in');
    await fillIn(page, long, 'wrong');
    await look('wrong password');
    await page.click('text=Create an account');
    await look('create an account');
    await page.fill('#username', 'x@');
    await page.fill('#email', long);
    await page.fill('#password', PASSWORD);
    await page.click('button.primary');
    await page.waitForSelector('[role=alert]');
    await look('create an account, problems');
    await page.fill('#username', 'b'.repeat(64));
    await page.fill('#password', PASSWORD);
    await page.click('button.primary');
    await page.waitForURL('**/consent/*');
    await look('consent');
    await leaving(page, () => page.click('button.primary'));
    for (const path of ['/account', '/account/password', '/account/applications', '/account/sessions']) {
      await page.goto(url(path));
      await look(path);
    }
    await page.click('button:has-text("Sign out here")');
    await look('signed out');
    await page.goto(await linkTo(built, long));
    await fillIn(page, 'b'.repeat(64));
    await look('confirm the address');
    await page.click('button.primary');
    await look('confirmed');
    await page.goto(url('/account/forgotten-password'));
    await look('forgotten password');
    await page.fill('#login', long);
    await page.click('button.primary');
    await look('look into your mail');
    await page.goto(await linkTo(built, long));
    await look('new password');
    await page.goto(url('/account/nothing'));
    await look('no such page');
    await page.goto(
      url(authorizeUrl({ client_id: 'app_nobody', redirect_uri: `https://${'x'.repeat(200)}` })),
    );
    await look('unknown application');
    await page.goto(url('/sign-in/nothing'));
    await look('expired');
    t.strictSame(complaints, []);
  });

  t.test('mailed links', async (t) => {
    const { page, complaints } = await visit(t);
    await page.goto(url('/account'));
    await page.click('text=Create an account');
    await page.fill('#username', 'eva');
    await page.fill('#email', 'eva@example.org');
    await page.fill('#password', 'short');
    await page.click('button.primary');
    t.equal(
      await page.evaluate(`document.querySelector('#password').matches(':invalid')`),
      true,
      'seen at once',
    );
    await page.fill('#password', PASSWORD);
    await page.click('button.primary');
    await page.waitForSelector('text=Not confirmed yet');
    await page.goto(await linkTo(built, 'eva@example.org'));
    await page.click('text=Confirm this address');
    await page.click('text=Go to your account');
    t.equal(await page.locator('#email-state').textContent(), 'Confirmed');
    await page.goto(url('/account/forgotten-password'));
    await page.fill('#login', 'eva@example.org');
    await page.click('button.primary');
    t.equal(await title(page), 'Check your mail');
    await page.goto(await linkTo(built, 'eva@example.org'));
    await page.fill('#new_password', 'something else entirely');
    await page.click('button.primary');
    t.equal(await title(page), 'Your new password is saved');
    await page.click('a.primary');
    await fillIn(page, 'eva', 'something else entirely');
    t.equal(await title(page), 'Profile');
    t.strictSame(complaints, []);
  });
}

/** A program that people sign in to: a page at its redirect URI. */
async function anApplication(t: Test): Promise<{ callback: string }> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Lighthouse</h1>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { callback: `http://127.0.0.1:${(server.address() as { port: number }).port}/callback` };
}

/** Notes what Chromium finds wrong with a page: a broken policy, an error in a script. */
function watch(context: BrowserContext, complaints: string[]): void {
  context.on('console', (message) => {
    // That a page answers 4xx is written there, too, and that an application is not there.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) {
      complaints.push(message.text());
    }
  });
  context.on('weberror', (error) => complaints.push(String(error.error())));
}
