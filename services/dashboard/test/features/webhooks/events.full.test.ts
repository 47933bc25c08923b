import { findChromium, NO_CHROMIUM, startChromium } from '@gatehouse/testing/chromium';
import t from 'tap';
import { build, PASSWORD, textOf } from '../../build.ts';

const built = await build(t, { notifications: true });
const scopes = ['read:data', 'read:users'];
await built.call('POST', '/api/v1/applications', 'ann', { name: 'Shop', type: 'machine', scopes });
const hooks = async () =>
  (await built.call<{ data: { id: string; events: string[] }[] }>('GET', '/api/v1/webhooks', 'ann')).body
    .data;
const NEW = '/dashboard/webhooks/new';
const url = 'https://shop.example.org/hooks';

t.test('the events of a webhook are chosen from groups, each with a sentence', async (t) => {
  const { browser } = await built.signedIn('ann');
  const empty = await browser.get(NEW);
  const text = textOf(empty);
  for (const words of ['Order order.* All of Order', 'order.created An order was placed.', 'All events, and'])
    t.match(text, words);
  t.notMatch(empty.html, 'value="webhook.test"', 'nobody subscribes to a test');
  const none = await browser.submit(empty, { url }, 'events');
  t.match(none.html, 'id="events-problem">Choose at least one event.');
  t.same(await hooks(), []);
  await browser.submit(await browser.get(NEW), { url, events: 'order.created' }, 'events');
  const [made] = await hooks();
  t.same(made?.events, ['order.created']);
  const page = await browser.get(`/dashboard/webhooks/${made?.id}`);
  t.match(page.html, /value="order.created" checked/);
  t.notMatch(empty.html, '<details class="panel group" open>', 'folded');
  const opened = [...page.html.matchAll(/<details class="panel group" open><summary>([^<]*)</g)];
  t.same(
    opened.map(([, title]) => title),
    ['Order (1 chosen)'],
    'open where something is chosen',
  );
  await browser.submit(page, { events: '*' }, 'events');
  t.same((await hooks())[0]?.events, ['*']);
});

t.test('an event that never comes is shown with the reason, and cannot be chosen', async (t) => {
  const { browser } = await built.signedIn('ann');
  const { html } = await browser.get(NEW);
  for (const type of ['user.created', 'user.deleted'])
    t.match(html, new RegExp(`value="${type.replace('.', '\\.')}" disabled`));
  t.notMatch(html, /value="(?:user\.\*|user\.updated|order\.created|\*)" disabled/);
  t.match(textOf(await browser.get(NEW)), 'Events about other people need an admin, an editor');
  const { browser: admins } = await built.signedIn('editor');
  const withoutApplication = await admins.get(NEW);
  t.match(withoutApplication.html, /value="order\.\*" disabled/);
  t.match(withoutApplication.html, /value="\*" disabled/);
  t.notMatch(withoutApplication.html, 'value="order.created"', 'a group without available events is one box');
  t.match(textOf(withoutApplication), 'No application of yours has the scope read:data.');
});

const chromium = findChromium();
t.test('a field filters the events', chromium === undefined ? { skip: NO_CHROMIUM } : {}, async (t) => {
  const browser = await startChromium(t, chromium ?? '');
  const page = await (await browser.newContext()).newPage();
  await page.goto(built.base + NEW);
  await page.fill('#username', 'ann');
  await page.fill('#password', PASSWORD);
  await page.click('button.primary');
  await page.waitForURL(`**${NEW}`);
  const shown = () =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll('#events .check, #events .group')].filter((it) => it.checkVisibility()).map((it) => it.querySelector('summary, label').textContent)`,
    );
  const folded = await shown();
  t.same([folded[0], folded.includes('User'), folded.includes('user.created')], ['*', true, false]);
  await page.fill('#events-filter', 'was placed');
  t.same(await shown(), ['Order', 'order.created']);
  await page.fill('#events-filter', 'sign-up');
  t.same(await shown(), ['User', 'user.created'], 'by another word');
  await page.fill('#events-filter', 'nonsense');
  await page.getByText('No event matches.').waitFor();
  await page.fill('#events-filter', 'was placed');
  t.notOk(await page.getByText('No event matches.').isVisible());
  await page.press('#events-filter', 'Enter');
  await page.check('[value="order.created"]');
  await page.fill('#events-filter', '');
  const unfolded = await shown();
  t.same(
    ['order.updated', 'user.created'].map((it) => unfolded.includes(it)),
    [true, false],
    'a group with a chosen event stays open',
  );
  for (const group of ['User', 'Sign in']) await page.click(`#events summary:text-is("${group}")`);
  for (const value of ['order.*', 'user.updated', 'sign_in.failed']) await page.check(`[value="${value}"]`);
  await page.fill('#url', url);
  await page.click('main button.primary');
  await page.waitForURL('**/dashboard/webhooks/whk_*');
  const chosen = await page.evaluate<string[]>(
    `[...document.querySelectorAll('#events input:checked')].map((it) => it.value)`,
  );
  t.same(chosen, ['user.updated', 'order.*', 'sign_in.failed'], 'a group stands for its types');
});
