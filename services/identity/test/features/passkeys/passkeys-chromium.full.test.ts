import {
  accessibilityViolations,
  type Browser,
  inChromium,
  openPage,
  type Page,
  pixelsTooWide,
  WALKED_SCREENS,
} from '@gatehouse/testing/chromium';
import { until } from '@gatehouse/testing/processes';
import t, { type Test } from 'tap';
import { build, PASSWORD } from '../../build.ts';

// Passkeys in a real browser, whose authenticators are virtual (WebDriver, WebAuthn Level 3 §11).

await inChromium(t, async (chromium) => {
  const built = await build(t, { host: 'localhost' });
  const url = (path: string) => new URL(path, built.base).href;

  /** Virtual authenticators do not respond to requests that ask nobody, so the browser says that it makes none. */
  const WITHOUT_MANAGER = 'delete PublicKeyCredential.getClientCapabilities';
  /** Decides as a password manager that has just filled in the password would: the authenticator then creates the passkey. */
  const AS_MANAGER = `{
    const create = CredentialsContainer.prototype.create;
    CredentialsContainer.prototype.create = function ({ mediation, ...options }) {
      sessionStorage.setItem('mediation', mediation);
      return create.call(this, options);
    };
  }`;

  /** A browser with an authenticator: the device itself, or a security key. */
  async function device(
    t: Test,
    options: { transport?: 'internal' | 'usb'; isUserVerified?: boolean; isManager?: boolean } = {},
  ) {
    const { page, complaints } = await openPage(t, chromium as Browser);
    await page.addInitScript(options.isManager ? AS_MANAGER : WITHOUT_MANAGER);
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('WebAuthn.enable', { enableUI: false });
    const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: options.transport ?? 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: options.isUserVerified ?? true,
        automaticPresenceSimulation: true,
      },
    });
    const credentials = async () =>
      (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials;
    return { page, complaints, cdp, authenticatorId, credentials };
  }

  const title = (page: Page) => page.locator('h1').textContent();

  async function signIn(page: Page, username = 'ann'): Promise<void> {
    await page.goto(url('/account'));
    await page.fill('#username', username);
    await page.fill('#password', PASSWORD);
    await page.click('button.primary');
    await page.waitForURL(url('/account'));
  }

  async function addPasskey(page: Page, name: string): Promise<void> {
    await page.goto(url('/account/passkeys'));
    await page.click('text=Add a passkey');
    await page.fill('#name', name);
    await page.click('button.primary');
    await page.waitForURL('**/account/passkeys?done=added');
  }

  async function signOut(page: Page): Promise<void> {
    await page.click('text=Sign out');
    await page.waitForURL('**/account/signed-out');
  }

  t.test('a passkey is added, signs in without a name, is renamed and removed', async (t) => {
    const { page, complaints, cdp, authenticatorId, credentials } = await device(t);
    await signIn(page);
    await addPasskey(page, 'My laptop');
    t.equal((await credentials()).length, 1);
    t.match(await page.locator('.card').textContent(), /My laptop.*Never/s);
    await signOut(page);
    // Not by autofill, which a virtual authenticator answers at once.
    await cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: false });
    await page.goto(url('/account/passkeys'));
    t.equal(await title(page), 'Sign in');
    await cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: true });
    await page.click('text=Sign in with a passkey');
    await page.waitForURL(url('/account/passkeys'));
    t.notMatch(await page.locator('.card').textContent(), 'Never');
    await page.click('summary');
    await page.fill('.card input[name=name]', 'Work laptop');
    await page.click('text=Save the name');
    t.match(await page.locator('.card').textContent(), /Work laptop/);
    await page.click('text=Remove');
    t.equal(await title(page), 'Remove this passkey?');
    await page.click('button.danger');
    await page.waitForURL('**?done=removed');
    t.equal(await page.locator('.card').count(), 0);
    t.strictSame(complaints, []);
  });

  t.test('autofill signs in as soon as the page is there', async (t) => {
    const { page, complaints } = await device(t);
    await signIn(page);
    await addPasskey(page, 'Autofill');
    await signOut(page);
    await page.goto(url('/account/passkeys'));
    // The virtual authenticator chooses the passkey in the list of the field by itself.
    await page.waitForURL(url('/account/passkeys'));
    t.notMatch(await page.locator('.card', { hasText: 'Autofill' }).textContent(), 'Never');
    t.strictSame(complaints, []);
  });

  t.test('a browser that has filled in the password creates a passkey by itself', async (t) => {
    await built.createPerson('upgraded');
    const { page, complaints, credentials } = await device(t, { isManager: true });
    await signIn(page, 'upgraded');
    t.equal(await page.evaluate("sessionStorage.getItem('mediation')"), 'conditional');
    t.equal((await credentials())[0]?.userName, 'upgraded');
    await page.goto(url('/account/passkeys'));
    t.equal(await page.locator('.card').count(), 1);
    await signOut(page);
    await page.goto(url('/account'));
    // The virtual authenticator chooses the passkey by itself.
    await page.waitForURL(url('/account'));
    t.strictSame(complaints, []);
  });

  t.test('a browser that creates none goes on at once', async (t) => {
    const { page, complaints } = await openPage(t, chromium);
    const visited: string[] = [];
    page.on('framenavigated', (frame) => visited.push(new URL(frame.url()).pathname));
    await signIn(page);
    t.ok(visited.some((path) => /^\/sign-in\/[^/]+\/after\/passkey$/.test(path)));
    t.equal(await title(page), 'Profile');
    t.strictSame(complaints, []);
  });

  t.test('password managers learn of another name and a removed passkey', async (t) => {
    await built.createPerson('signalled');
    const { page, complaints, credentials } = await device(t);
    await signIn(page, 'signalled');
    await addPasskey(page, 'Signalled');
    await page.goto(url('/account'));
    await page.fill('#username', 'renamed');
    await page.fill('#name', 'Somebody Else');
    await page.click('button.primary');
    await page.waitForURL('**/account?done=saved');
    await until(async () => (await credentials())[0]?.userName === 'renamed', 5000);
    t.equal((await credentials())[0]?.userDisplayName, 'Somebody Else');
    await page.goto(url('/account/passkeys'));
    await page.click('text=Remove');
    await page.click('button.danger');
    await page.waitForURL('**?done=removed');
    await until(async () => (await credentials()).length === 0, 5000);
    t.strictSame(complaints, []);
  });

  t.test('a second device has a passkey of its own, and one that is removed no longer works', async (t) => {
    const [first, second] = [await device(t), await device(t, { transport: 'usb' })];
    await signIn(first.page, 'admin');
    await addPasskey(first.page, 'First');
    await signIn(second.page, 'admin');
    await addPasskey(second.page, 'Second');
    t.equal(await second.page.locator('.card').count(), 2);
    await second.page.locator('.card', { hasText: 'First' }).getByText('Remove').click();
    await second.page.click('button.danger');
    await signOut(first.page);
    await first.page.goto(url('/account'));
    await first.page.waitForSelector('[role=alert]');
    t.match(await first.page.locator('[role=alert]').textContent(), /This passkey did not work/);
    await signOut(second.page);
    await second.page.goto(url('/account'));
    await second.page.click('text=Sign in with a passkey');
    await second.page.waitForURL(url('/account'));
    t.equal(await title(second.page), 'Profile');
  });

  t.test(
    'a device that cannot verify its user adds no passkey, and a device adds one only once',
    async (t) => {
      const unverified = await device(t, { isUserVerified: false });
      await signIn(unverified.page);
      await unverified.page.goto(url('/account/passkeys/add'));
      await unverified.page.click('button.primary');
      await unverified.page.waitForSelector('[role=status]:not([hidden])');
      t.match(await unverified.page.locator('[role=status]').textContent(), /No passkey was added/);
      const { page } = await device(t);
      await signIn(page);
      await addPasskey(page, 'Once');
      await page.goto(url('/account/passkeys/add'));
      await page.click('button.primary');
      await page.waitForSelector('[role=status]:not([hidden])');
      t.match(await page.locator('[role=status]').textContent(), /already has a passkey/);
    },
  );

  t.test('an account is created with a passkey, or with a password where somebody prefers one', async (t) => {
    const openSignUp = async (page: Page, username: string) => {
      await page.goto(url('/account/sign-up'));
      await page.fill('#username', username);
      await page.fill('#email', `${username}@example.org`);
    };
    const { page, complaints, credentials } = await device(t);
    await openSignUp(page, 'keyed');
    t.notOk(await page.locator('#password').isVisible());
    await page.click('text=Create account with a passkey');
    await page.waitForURL(url('/account'));
    const [credential] = await credentials();
    t.equal(credential?.userName, 'keyed', 'the name that the browser shows');
    await signOut(page);
    await page.goto(url('/account'));
    // The virtual authenticator chooses the passkey by itself.
    await page.waitForURL(url('/account'));
    t.equal(await page.inputValue('#username'), 'keyed');
    await signOut(page);
    t.strictSame(complaints, []);

    const other = await device(t, { isManager: true });
    await other.page.goto(url('/account'));
    await other.page.waitForFunction("document.cookie.includes('gatehouse_creates_passkeys')");
    await openSignUp(other.page, 'worded');
    await other.page.click('text=Use a password instead');
    await other.page.fill('#password', 'short');
    await other.page.evaluate("document.querySelector('#password').minLength = 1");
    await other.page.click('text=Create account >> visible=true');
    t.match(await other.page.locator('[role=alert]').textContent(), /password/);
    t.ok(await other.page.locator('#password').isVisible(), 'the choice is kept');
    await other.page.fill('#password', PASSWORD);
    await other.page.click('text=Create account >> visible=true');
    await other.page.waitForURL(url('/account'));
    t.equal((await other.credentials()).length, 0);

    const third = await device(t);
    await openSignUp(third.page, 'ann');
    await third.page.click('text=Create account with a passkey');
    await third.page.waitForSelector('[role=alert]');
    await third.page.waitForTimeout(500);
    t.equal(
      (await third.credentials()).length,
      0,
      'the browser forgets a passkey that belongs to no account',
    );
  });

  t.test('without script, a password signs in and the page says why it adds no passkey', async (t) => {
    const { page } = await openPage(t, chromium, { javaScriptEnabled: false });
    await page.goto(url('/account/passkeys/add'));
    t.notOk(await page.locator('text=Sign in with a passkey').isVisible());
    await page.fill('#username', 'ann');
    await page.fill('#password', PASSWORD);
    await page.click('button.primary');
    t.equal(await title(page), 'Add a passkey');
    t.ok(await page.locator('text=This browser cannot add a passkey').isVisible());
    t.notOk(await page.locator('button.primary').isVisible());
  });

  for (const screen of WALKED_SCREENS) {
    const { width } = screen.viewport;
    t.test(`the pages fit and are accessible at ${width} pixels`, async (t) => {
      const { page, complaints } = await openPage(t, chromium, screen);
      await signIn(page);
      for (const path of ['/account/passkeys', '/account/passkeys/add']) {
        await page.goto(url(path));
        t.strictSame(await accessibilityViolations(page), [], path);
        t.equal(await pixelsTooWide(page), 0, path);
      }
      await page.goto(url('/account/passkeys'));
      await page.locator('summary').first().click();
      t.strictSame(await accessibilityViolations(page), []);
      await page.click('text=Sign out');
      await page.goto(url('/account'));
      t.ok(await page.locator('text=Sign in with a passkey').isVisible());
      t.strictSame(await accessibilityViolations(page), []);
      await page.goto(url('/account/sign-up'));
      t.equal(await title(page), 'Create an account');
      t.strictSame(await accessibilityViolations(page), []);
      t.equal(await pixelsTooWide(page), 0);
      t.strictSame(complaints, []);
    });
  }
});
