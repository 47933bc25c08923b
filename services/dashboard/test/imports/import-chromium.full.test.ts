import {
  accessibilityViolations,
  inChromium,
  openPage,
  pixelsTooWide,
  SCREENS,
  signInTo,
} from '@gatehouse/testing/chromium';
import t from 'tap';
import { build, PASSWORD } from '../build.ts';
import { namesOf, openImports, productFile } from './imports.ts';

const ROWS = 300;

await inChromium(t, async (browser) => {
  // The limits of rates pace imports: 75 rows in a second.
  const built = await build(t, { rateLimit: 'on' });
  const imports = await openImports(t, built);

  for (const javaScriptEnabled of [true, false]) {
    const how = javaScriptEnabled ? 'with' : 'without';
    t.test(`the progress of an import is followed, and it is cancelled, ${how} scripts`, async (t) => {
      const { page, complaints } = await openPage(t, browser, { ...SCREENS[1], javaScriptEnabled });
      await signInTo(page, new URL('/dashboard', built.base).href, { username: 'admin', password: PASSWORD });
      const looksRight = async (what: string) => {
        if (!javaScriptEnabled) return;
        t.same(await accessibilityViolations(page), [], what);
        t.equal(await pixelsTooWide(page), 0, what);
      };
      const start = async (names: readonly string[]) => {
        await page.goto(`${built.base}/dashboard/products/import`);
        const buffer = Buffer.from(productFile(names));
        await page.setInputFiles('#file', { name: 'rows.csv', mimeType: 'text/csv', buffer });
        await page.click('main button.primary');
        await page.click('main button:has-text("Import 300 products")');
        await page.locator('main progress').waitFor();
      };
      await start(namesOf(`followed ${how}`, ROWS));
      await looksRight('the progress');
      if (javaScriptEnabled) {
        await page.evaluate('window.isSame = true');
        await page.focus('#cancel');
        await page.waitForResponse((response) => response.url().includes('/import/imp_'));
        await page.waitForFunction("document.activeElement.id === 'cancel'");
      }
      while (!javaScriptEnabled && (await page.locator('main progress').count()) > 0) await page.reload();
      await page.locator('text=The import is complete.').waitFor();
      if (javaScriptEnabled) t.ok(await page.evaluate('window.isSame'), 'no page was loaded for that');
      await looksRight('the end');

      await start(namesOf(`cancelled ${how}`, ROWS));
      await page.click('#cancel');
      await page.locator('text=The import was cancelled').waitFor();
      await looksRight('the cancellation');
      const [, made] = /Created([\d,]+)/.exec((await page.locator('.facts').textContent()) ?? '') ?? [];
      t.equal(await imports.db.collection('imports').countDocuments({ 'done.create': Number(made) }), 1);
      t.same(complaints, []);
    });
  }
});
