import { findChromium, NO_CHROMIUM, startChromium } from '@gatehouse/testing/chromium';
import t from 'tap';
import { build, PASSWORD, textOf } from '../../build.ts';

const built = await build(t);
const PATH = '/dashboard/preferences';
const rootOf = (html: string) => /<html[^>]*>/.exec(html)?.[0];

t.test('a theme and a time zone are chosen, kept, and taken back', async (t) => {
  const { browser, page } = await built.signedIn('ann');
  t.equal(rootOf(page.html), '<html lang="en">');
  const saved = await browser.submit(
    await browser.get(PATH),
    { theme: 'dark', time_zone: 'Asia/Tokyo' },
    'time_zone',
  );
  t.match(textOf(saved), 'Your preferences are saved.');
  for (const path of [PATH, '/dashboard', '/account', '/account/nothing-here']) {
    const { html } = await browser.get(path);
    t.equal(rootOf(html), '<html lang="en" data-theme="dark" data-time-zone="Asia/Tokyo">', path);
    t.match(html, '<meta name="color-scheme" content="dark">');
  }
  t.match(textOf(saved), 'Times are in the zone Asia/Tokyo .');
  t.match(textOf(await browser.get('/account/sessions')), /Last seen \S+ \S+ \d{4} at \d\d:\d\d GMT\+9/);
  const docs = await browser.get('/docs');
  t.equal(rootOf(docs.html), '<html lang="en" data-theme="dark">', 'kept pages have no time zone');
  t.match(docs.headers.get('vary'), /cookie/i);
  const others = await built.browser().get('/docs');
  t.equal(rootOf(others.html), '<html lang="en">', 'pages of others are as they were');
  t.not(others.headers.get('etag'), docs.headers.get('etag'));

  const again = await browser.get(PATH);
  t.match(again.html, /value="dark" selected/);
  await browser.submit(again, { theme: 'system', time_zone: 'browser' }, 'time_zone');
  t.equal(rootOf((await browser.get('/dashboard')).html), '<html lang="en">');
});

t.test('only what there is can be chosen', async (t) => {
  const { browser } = await built.signedIn('ann');
  const fields = { theme: 'dark"><script>', time_zone: 'Nowhere/"><script>' };
  await browser.submit(await browser.get(PATH), fields, 'time_zone');
  t.equal(rootOf((await browser.get('/dashboard')).html), '<html lang="en">');
  for (const cookie of [
    'gatehouse_theme=dark"><script>; gatehouse_time_zone=Nowhere',
    'x_gatehouse_theme=dark',
    `gatehouse_theme=${'x'.repeat(4000)}`,
  ]) {
    const { html } = await built.browser({ cookie }).get('/docs');
    t.equal(rootOf(html), '<html lang="en">', cookie.slice(0, 60));
  }
});

const chromium = findChromium();
t.test('in a browser', chromium === undefined ? { skip: NO_CHROMIUM } : {}, async (t) => {
  const browser = await startChromium(t, chromium ?? '');
  for (const system of ['light', 'dark'] as const) {
    const context = await browser.newContext({ colorScheme: system, timezoneId: 'Europe/Berlin' });
    const page = await context.newPage();
    await page.goto(`${built.base}/dashboard`);
    await page.fill('#username', 'ann');
    await page.fill('#password', PASSWORD);
    await page.click('button.primary');
    await page.waitForURL('**/dashboard');
    const isDark = async (path: string) => {
      await page.goto(built.base + path);
      const [ground, ink] = await page.evaluate<[string, string]>(
        '[getComputedStyle(document.documentElement).backgroundColor, getComputedStyle(document.body).color]',
      );
      const lightness = (colour: string) => Number(/\d+/.exec(colour)?.[0]);
      t.ok(Math.abs(lightness(ground) - lightness(ink)) > 150, `${path} can be read: ${ink} on ${ground}`);
      return lightness(ground) < 128;
    };
    const PAGES = ['/dashboard', '/account', '/docs', '/docs/api/api-v1-items'];
    for (const theme of ['system', 'light', 'dark', 'system']) {
      await page.goto(built.base + PATH);
      await page.selectOption('#theme', theme);
      await page.selectOption('#time_zone', theme === 'dark' ? 'Asia/Tokyo' : 'browser');
      await page.click('button.primary');
      await page.waitForURL('**?done=saved');
      const expected = (theme === 'system' ? system : theme) === 'dark';
      for (const path of PAGES) t.equal(await isDark(path), expected, `${path}, ${theme} on ${system}`);
      await page.goto(`${built.base}/dashboard/applications`);
      const zone = await page.evaluate<string>('document.documentElement.dataset.timeZone');
      t.equal(zone, theme === 'dark' ? 'Asia/Tokyo' : 'Europe/Berlin');
      await page.goto(`${built.base}/account/sessions`);
      t.match(await page.textContent('main'), theme === 'dark' ? /GMT\+9/ : /CES?T/, 'the same zone there');
    }
    await context.close();
  }
});
