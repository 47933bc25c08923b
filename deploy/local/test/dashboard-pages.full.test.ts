// Runs first, as it takes more than a minute.
import {
  accessibilityViolations,
  bytesOf,
  inChromium,
  openPage,
  type Page,
  pixelsTooWide,
  SCREENS,
  signInTo,
  WALKED_SCREENS,
} from '@gatehouse/testing/chromium';
import t from 'tap';
import { startGatehouse, temporaryDir } from './gatehouse.ts';
import { seedLongNames } from './long-names.ts';
import { pathsOf, seed } from './screenshot-data.ts';

/** Pages that have every kind of control between them. */
const KINDS = [
  'overview',
  'application',
  'credentials',
  'quick-start',
  'profiles',
  'audit',
  'queues',
  'search',
  'user',
];
const LONGEST_FIRST_VIEW_MS = 1000;
const LARGEST_FIRST_VIEW_BYTES = 300_000;

await inChromium(t, async (browser) => {
  t.setTimeout(600_000);
  const { demo } = await startGatehouse(t, temporaryDir(t));
  const paths = pathsOf(demo.machine.client_id, await seed(demo));

  async function signedIn(options: Parameters<typeof openPage>[2]) {
    const { page, complaints } = await openPage(t, browser, options);
    await signInTo(page, `${demo.base_url}/dashboard`, demo.admin);
    return { page, complaints: () => complaints.filter((it) => !/status of 40[04]/.test(it)) };
  }

  for (const screen of WALKED_SCREENS) {
    const { viewport, colorScheme } = screen;
    t.test(`every page at ${viewport.width} px, ${colorScheme}`, async (t) => {
      const { page, complaints } = await signedIn(screen);
      for (const [name, path] of Object.entries(paths)) {
        await page.goto(demo.base_url + path);
        // What it looks for does not depend on how much room there is; it looks for seconds.
        if (viewport.width < 1920)
          t.same(await accessibilityViolations(page), [], `${name}: axe-core finds nothing`);
        t.equal(await pixelsTooWide(page), 0, `${name} is not too wide`);
        const shown = await page.evaluate<string[]>(
          "[...document.querySelectorAll('[hidden]')].filter((it) => getComputedStyle(it).display !== 'none').map((it) => it.outerHTML)",
        );
        t.same(shown, [], `${name}: what is hidden does not show`);
      }
      t.same(complaints(), [], 'and the console is silent');
    });
  }

  const long = await seedLongNames(demo);
  for (const width of [390, 1440]) {
    t.test(`names without a blank push nothing out, and no date wraps, at ${width} px`, async (t) => {
      const { page } = await signedIn({ viewport: { width, height: 900 } });
      for (const [name, path] of Object.entries({ ...paths, ...long })) {
        await page.goto(demo.base_url + path);
        t.equal(await pixelsTooWide(page), 0, `${name} is not too wide`);
        t.same(await page.evaluate<string[]>(MISFITS), [], name);
      }
    });
  }

  t.test('every control of each kind of page is reached by keyboard, and seen when it is', async (t) => {
    const { page } = await signedIn(SCREENS[0]);
    for (const name of KINDS) {
      await page.goto(demo.base_url + paths[name]);
      t.same(await notReached(page), [], name);
    }
  });

  t.test('nothing moves for those who want it so', async (t) => {
    const { page } = await signedIn({ reducedMotion: 'reduce' });
    for (const path of [paths.overview, paths.applications].map(String)) {
      await page.goto(demo.base_url + path);
      const moving = await page.evaluate<number>(
        `[...document.querySelectorAll('*')].filter((it) => parseFloat(getComputedStyle(it).transitionDuration) > 0 || getComputedStyle(it).animationName !== 'none').length`,
      );
      t.equal(moving, 0, path);
    }
  });

  t.test('the first view of the overview, plots included, is light and fast', async (t) => {
    const { page } = await signedIn(SCREENS[0]);
    const client = await page.context().newCDPSession(page);
    await client.send('Network.setCacheDisabled', { cacheDisabled: true });
    const began = performance.now();
    await page.goto(`${demo.base_url}/dashboard`, { waitUntil: 'load' });
    const ms = performance.now() - began;
    const bytes = await bytesOf(page);
    t.comment(`${bytes} bytes, ${Math.round(ms)} ms`);
    t.ok(bytes > 0 && bytes < LARGEST_FIRST_VIEW_BYTES, `${bytes} bytes`);
    t.ok(ms < LONGEST_FIRST_VIEW_MS, `${ms} ms`);
  });
});

/** The tables that scroll, and the times in more than one line. */
const MISFITS = `[
  ...[...document.querySelectorAll('.dashboard:not(.docs) .table')]
    .filter((it) => it.checkVisibility() && it.scrollWidth > it.clientWidth)
    .map((it) => it.scrollWidth - it.clientWidth + ' px of a table are pushed out'),
  ...[...document.querySelectorAll('.moment')]
    .filter((it) => it.checkVisibility() && it.getClientRects().length > 1)
    .map((it) => 'a time wraps: ' + it.textContent),
]`;

/** The controls that Tab does not come to, or on which nobody sees that it has. */
async function notReached(page: Page): Promise<string[]> {
  const count = await page.evaluate<number>(`{
    const controls = [...document.querySelectorAll('a[href], button, input, select, textarea, summary')];
    // Of a group of radio buttons, the chosen one is reached.
    window.left = new Set(controls.filter((it) => it.checkVisibility() && it.type !== 'hidden' && !it.disabled
      && !(it.type === 'radio' && !it.checked)));
    window.unseen = [];
    document.addEventListener('focusin', ({ target }) => {
      window.left.delete(target);
      const { outlineStyle, outlineWidth } = getComputedStyle(target);
      const { top, bottom } = target.getBoundingClientRect();
      const isOutside = bottom < 0 || top > innerHeight;
      if (outlineStyle === 'none' || outlineWidth === '0px' || isOutside) window.unseen.push(target.outerHTML.slice(0, 120));
    });
    window.left.size;
  }`);
  for (let i = 0; i < count * 2 + 10; i += 1) {
    await page.keyboard.press('Tab');
    if (i % 10 === 9 && (await page.evaluate<number>('window.left.size')) === 0) break;
  }
  return page.evaluate<string[]>(
    '[...[...window.left].map((it) => it.outerHTML.slice(0, 120)), ...window.unseen]',
  );
}
