import { findChromium, NO_CHROMIUM, signInTo, startChromium } from '@gatehouse/testing/chromium';
import t from 'tap';
import { build, PASSWORD } from '../../build.ts';

const built = await build(t);
const NEW = '/dashboard/resources/new';
const draft = { type: 'machine', scopes: ['read:data'] };
const ids: string[] = [];
const addApplication = async () => {
  const { body } = await built.call<{ client_id: string }>('POST', '/api/v1/applications', 'ann', {
    ...draft,
    name: `Job ${ids.length + 1}`,
  });
  ids.push(body.client_id);
};
for (let count = 0; count < 50; count += 1) await addApplication();

t.test('up to fifty applications are boxes, and more are suggestions', async (t) => {
  const { browser } = await built.signedIn('ann');
  const boxes = await browser.get(NEW);
  t.equal(boxes.html.match(/type="checkbox" id="applications-/g)?.length, 50);
  t.notMatch(boxes.html, '<datalist');
  const [first = ''] = ids;
  const sent = { identifier: 'https://10.0.0.1/mcp', name: 'Calendar', scopes: 'dates:read Read your dates' };
  const made = await browser.submit(boxes, { ...sent, applications: first }, 'name="scopes"');
  await addApplication();
  const page = await browser.get(made.url.pathname);
  t.equal(
    page.html.match(/type="checkbox" id="applications-/g)?.length,
    1,
    'those that are chosen stay boxes',
  );
  t.match(page.html, `value="${first}" checked`);
  t.match(page.html, `<option value="${ids[50]}" label="Job 51">`);
  const admin = (await built.signedIn('admin')).browser;
  t.match((await admin.get('/dashboard/invitations/new')).html, `<option value="${first}" label="Job 1">`);
});

const chromium = findChromium();
t.test('fields for further values', chromium === undefined ? { skip: NO_CHROMIUM } : {}, async (t) => {
  const browser = await startChromium(t, chromium ?? '');
  const page = await (await browser.newContext()).newPage();
  await signInTo(page, built.base + NEW, { username: 'ann', password: PASSWORD });
  const values = { identifier: 'https://10.0.0.2/mcp', name: 'Dates', scopes: 'days:read Read your days' };
  for (const [name, value] of Object.entries(values)) await page.fill(`#${name}`, value);
  await page.fill('[name="applications.other"]', ids[1] ?? '');
  for (const id of ['app_of_another', `${ids[2]} ${ids[3]}`]) {
    await page.click('[data-another] button');
    await page.keyboard.type(id);
  }
  await page.click('main button.primary');
  await page.waitForURL('**/dashboard/resources/rsr_*');
  const chosen = await page.evaluate<string[]>(
    `[...document.querySelectorAll('#applications input:checked')].map((it) => it.value)`,
  );
  t.same(chosen.toSorted(), [...ids.slice(1, 4), 'app_of_another'].toSorted());
});
