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
import { build } from '../../build.ts';
import { startUpstream, verified } from './upstream.ts';

// A provider in a real browser, under the policies of our pages. SCREENSHOTS is a directory for pictures of the pages.

await inChromium(t, async (chromium) => {
  const upstream = await startUpstream(t);
  const built = await build(t, {
    // The cookies of the two are apart by the host.
    host: 'localhost',
    config: { identityProviders: upstream.settings() },
  });
  upstream.start(built.base);
  const url = (path: string) => new URL(path, built.base).href;

  async function examine(page: Page, name: string): Promise<void> {
    t.strictSame(await accessibilityViolations(page), [], name);
    t.equal(await pixelsTooWide(page), 0, name);
    const { SCREENSHOTS } = process.env;
    const { width } = page.viewportSize() ?? { width: 0 };
    const scheme = await page.evaluate(
      "matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'",
    );
    if (SCREENSHOTS)
      await page.screenshot({ path: `${SCREENSHOTS}/${name} ${width} ${scheme}.png`, fullPage: true });
  }

  for (const [i, screen] of WALKED_SCREENS.entries()) {
    const { width } = screen.viewport;
    t.test(
      `signed in, shown and cancelled at ${width} pixels, ${screen.colorScheme ?? 'light'}`,
      async (t) => {
        const { page, complaints } = await openPage(t, chromium as Browser, screen);
        await page.goto(url('/account/connected-accounts'));
        await examine(page, 'sign in with acme');
        upstream.state.isCancelled = true;
        await page.click('button:has-text("Sign in with Acme")');
        await page.waitForURL('**/methods/acme?**');
        await examine(page, 'cancelled at acme');
        upstream.state.isCancelled = false;
        upstream.state.person = verified(`walker${i}`);
        await page.click('button:has-text("Sign in with Acme")');
        await page.waitForURL(url('/account/connected-accounts'));
        await examine(page, 'connected accounts');
        t.match(await page.locator('.card').textContent(), `walker${i}@elsewhere.example`);
        // A response of 401 is one of the complaints of the console.
        t.strictSame(
          complaints.filter((it) => !/401/.test(String(it))),
          [],
        );
      },
    );
  }
});
