import {
  accessibilityViolations,
  bytesOf,
  inChromium,
  openPage,
  pixelsTooWide,
  SCREENS,
} from '@gatehouse/testing/chromium';
import { repetitions } from '@gatehouse/testing/repetitions';
import t from 'tap';
import { build } from '../build.ts';

/** Finds the words in cells that stand on more than one line. */
const BROKEN_WORDS = `[...document.querySelectorAll('.prose-page td')].flatMap((cell) => {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    for (const { 0: word, index } of texts.currentNode.data.matchAll(/[A-Za-z0-9]+/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, index);
      range.setEnd(texts.currentNode, index + word.length);
      if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) found.push(word);
    }
  }
  return found;
})`;

await inChromium(t, async (browser) => {
  const { base } = await build(t);
  const all = await allPages();
  /** By day the contents, the search and the first guides. */
  const paths = all.slice(0, repetitions(all.length));

  t.test(
    'every page, with everything unfolded: no violation, no complaint, light, nothing cut off',
    async (t) => {
      const { page, complaints } = await openPage(t, browser, SCREENS[1]);
      let largest = 0;
      for (const path of paths) {
        await page.goto(base + path);
        largest = Math.max(largest, await bytesOf(page));
        await page.evaluate('for (const it of document.querySelectorAll("details")) it.open = true');
        t.same(await accessibilityViolations(page), [], path);
        t.equal(await pixelsTooWide(page), 0, `${path} is not too wide`);
      }
      t.comment(`${paths.length} pages, at most ${largest} bytes`);
      t.ok(largest < 300_000, `${largest} bytes`);
      t.same(complaints, []);
    },
  );

  t.test('tables break no words', async (t) => {
    for (const width of [390, 768, 1280].slice(0, repetitions(3))) {
      const { page } = await openPage(t, browser, { viewport: { width, height: 800 } });
      for (const path of paths.filter((it) => it.split('/').length <= 4)) {
        await page.goto(base + path);
        t.same(await page.evaluate<string[]>(BROKEN_WORDS), [], `${path} at ${width} px`);
        t.equal(await pixelsTooWide(page), 0, `${path} is not too wide at ${width} px`);
      }
      await page.context().close();
    }
  });

  t.test('code is copied by its button, and sections are reached by keyboard', async (t) => {
    const { page } = await openPage(t, browser, { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.goto(`${base}/docs/api/v2-orders`);
    await page.click('button[data-copy="list_v2_orders-curl"]');
    await page.getByText('Copied').waitFor();
    t.equal(
      await page.evaluate<string>('navigator.clipboard.readText()'),
      `curl "${base}/v2/orders" \\\n  -H "Authorization: Bearer $TOKEN"`,
    );
    await page.goto(`${base}/docs/guides/users-api`);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    t.equal(await page.evaluate<string>('document.activeElement?.id'), 'main');
    await page.locator('#docs-q').focus();
    await page.keyboard.type('conditional');
    const result = page.locator('#bar-results').getByRole('link', { name: 'Conditional requests' });
    await result.waitFor();
    t.same(await accessibilityViolations(page), [], 'with the results that show while you type');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/search?q=conditional');
    await page.locator('.found a').first().press('Enter');
    await page.waitForURL('**/docs/guides/users-api#conditional-requests');
  });

  /** Those that the pages link to. */
  async function allPages(): Promise<string[]> {
    const found = new Set(['/docs', '/docs/search?q=token', '/docs/adr', '/docs/api']);
    for (const path of found) {
      if (path.split('/').length > 3) continue;
      const html = await (await fetch(base + path, { headers: { accept: 'text/html' } })).text();
      for (const [, href = ''] of html.matchAll(/<a [^>]*href="(\/docs[^"#?]*)"/g)) found.add(href);
    }
    return [...found];
  }
});
