import { readFile } from 'node:fs/promises';
import {
  accessibilityViolations,
  type Browser,
  inChromium,
  openPage,
  type Page,
  pixelsTooWide,
  WALKED_SCREENS,
} from '@gatehouse/testing/chromium';
import t from 'tap';
import { build, PASSWORD } from '../../build.ts';
import { codeOf, forgetCodes } from './app.ts';

// An authenticator app in a real browser. SCREENSHOTS is a directory for pictures of the pages.

await inChromium(t, async (chromium) => {
  const built = await build(t);
  const url = (path: string) => new URL(path, built.base).href;
  const title = (page: Page) => page.locator('h1').textContent();

  async function enterPassword(page: Page, username: string, path = '/account'): Promise<void> {
    await page.goto(url(path));
    await page.fill('#username', username);
    await page.fill('#password', PASSWORD);
    await page.click('button.primary');
  }

  /** Looks at the page with axe, and at its width. */
  async function examine(page: Page, name: string): Promise<void> {
    t.strictSame(await accessibilityViolations(page), [], name);
    t.equal(await pixelsTooWide(page), 0, name);
    const { SCREENSHOTS } = process.env;
    const { width } = page.viewportSize() ?? { width: 0 };
    if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/${name} ${width}.png`, fullPage: true });
  }

  for (const screen of WALKED_SCREENS) {
    const { width } = screen.viewport;
    t.test(`set up, used, remembered, recovered and removed at ${width} pixels`, async (t) => {
      const username = `walker${width}${screen.colorScheme ?? ''}`;
      const id = await built.createPerson(username);
      const { page, complaints } = await openPage(t, chromium as Browser, screen);
      await enterPassword(page, username, '/account/security');
      await examine(page, 'security, nothing');
      await page.click('text=Set up an authenticator app');
      await page.click('summary');
      const secret = ((await page.locator('.secret-key').textContent()) ?? '').replaceAll(' ', '');
      await examine(page, 'set up');
      await page.fill('#code', '000000');
      await page.click('button.primary');
      await examine(page, 'set up, problem');
      await page.fill('#code', codeOf(secret));
      await page.click('button.primary');
      t.equal(await title(page), 'Your recovery codes');
      await examine(page, 'recovery codes');
      const codes = await page.locator('.recovery-codes code').allTextContents();
      const downloading = page.waitForEvent('download');
      await page.click('text=Download the codes');
      const file = await (await downloading).path();
      t.equal(await readFile(file, 'utf8'), `${codes.join('\n')}\n`);
      await page.click('text=I have kept the codes');
      await examine(page, 'security');

      await forgetCodes(built, id);
      await page.click('text=Sign out');
      await enterPassword(page, username);
      t.equal(await title(page), 'Enter a code');
      await examine(page, 'second factor');
      await page.fill('#authenticator_app', '000000');
      await page.click('button.primary');
      await examine(page, 'second factor, problem');
      await page.fill('#authenticator_app', codeOf(secret));
      await page.check('#remember_browser');
      await page.click('button.primary');
      t.equal(await title(page), 'Profile');
      await page.click('text=Sign out');
      await enterPassword(page, username, '/account/security');
      t.equal(await title(page), 'Security', 'the browser is remembered');
      await examine(page, 'security, remembered');
      await page.click('text=Forget this browser');
      await page.click('text=Sign out');
      await enterPassword(page, username);
      await page.click('summary');
      await examine(page, 'second factor, recovery code');
      await page.fill('#recovery_code', codes[0] ?? '');
      await page.click('text=Sign in with this code');
      t.equal(await title(page), 'Profile');
      await page.goto(url('/account/security'));
      await page.click('text=Get new codes');
      await examine(page, 'renew');
      await page.click('button.danger');
      t.notOk((await page.locator('.recovery-codes code').allTextContents()).includes(codes[1] ?? ''));
      await page.click('text=I have kept the codes');
      await page.click('text=Remove the app');
      await examine(page, 'remove');
      await page.click('button.danger');
      t.match(await page.locator('.notice').textContent(), /The authenticator app is removed/);
      t.strictSame(
        complaints.filter((it) => !/status of 40[01]/.test(it)),
        [],
      );
    });
  }
});
