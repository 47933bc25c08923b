import { accessibilityViolations, inChromium, openPage, signInTo } from '@gatehouse/testing/chromium';
import t from 'tap';
import { build, PASSWORD } from './build.ts';

const SESSION = 'gatehouse_dashboard_session';

await inChromium(t, async (browser) => {
  const built = await build(t);
  const url = (address: string) => new URL(address, built.base).href;
  const { page } = await openPage(t, browser, { viewport: { width: 360, height: 740 } });
  const context = page.context();
  await signInTo(page, url('/dashboard/items/new'), { username: 'ann', password: PASSWORD });

  await t.test('a form that was filled in while the session ended is sent after signing in', async (t) => {
    const isAccessible = async () => t.same(await accessibilityViolations(page), [], page.url());
    await page.fill('#name', 'long "typed"');
    await page.fill('#value', '{\n  "a": "1 < 2"\n}');
    await context.clearCookies({ name: SESSION });
    await page.click('main button.primary');
    await page.locator('h1', { hasText: 'Your session has ended' }).waitFor();
    await isAccessible();
    const [tab] = await Promise.all([context.waitForEvent('page'), page.click('main a.primary')]);
    await tab.waitForURL(url('/dashboard/items/new'));
    await tab.close();
    await page.click('main form button');
    await page.locator('h1', { hasText: 'You have signed in again' }).waitFor();
    await isAccessible();
    await page.click('main form button');
    await page.waitForURL(url('/dashboard/items/itm_*'));
    t.match(await page.inputValue('#value'), '"a": "1 < 2"');
  });

  await t.test('an automatic refresh of a page identifies itself', async (t) => {
    const application = { name: 'Polled', type: 'machine', scopes: ['read:data'] };
    const { body } = await built.call('POST', '/api/v1/applications', 'ann', application);
    await page.goto(url(`/dashboard/applications/${body.client_id}/usage`));
    const polled = await page.waitForRequest('**/usage?range=*');
    t.equal(polled.headers()['x-polling'], 'true');
    await page.goto(url('/dashboard/items'));
    const [searched] = await Promise.all([
      page.waitForRequest('**/items?q=ty*'),
      page.locator('#search-q').pressSequentially('ty'),
    ]);
    t.same(
      [searched.headers()['hx-request'], searched.headers()['x-polling']],
      ['true', undefined],
      'a person’s search does not',
    );
  });
});
