import { type FormBrowser, formsOf, type Page } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { startServer } from './clients/set-up.ts';

t.setTimeout(120_000);
const server = await startServer(t);
const { demo, issuer } = server;

const textOf = ({ html }: Page) => html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');

async function signedIn({
  username,
  password,
}: {
  username: string;
  password: string;
}): Promise<FormBrowser> {
  const browser = server.browser();
  await browser.submit(await browser.get('/dashboard'), { username, password });
  return browser;
}

const admin = await signedIn(demo.admin);
const cookieOf = (browser: FormBrowser) =>
  [...browser.cookies('/dashboard')].map((pair) => pair.join('=')).join('; ');

t.test('queues: a paused lane keeps its jobs, and goes on with them', async (t) => {
  const page = await admin.get('/dashboard/queues');
  for (const lane of ['messages / email', 'messages / sms', 'messages / push', 'reports / all']) {
    t.match(textOf(page), `${lane} working`);
  }
  const paused = await admin.submit(page, {}, 'value="email"');
  t.match(textOf(paused), 'The lane is paused.');
  t.match(textOf(paused), 'messages / email paused');

  const form = await admin.get('/dashboard/notifications/new');
  const fields = { user_id: demo.user.user_id, type: 'email', priority: 'high', message: 'A paused message' };
  const queued = await admin.submit(form, fields, 'user_id');
  t.match(textOf(queued), 'Status queued');
  // A worker that has taken it already gives it back.
  const isKept = /email paused (?:0 1|1 high 0) /;
  await until(async () => isKept.test(textOf(await admin.get('/dashboard/queues'))), 5000);

  const resumed = await admin.submit(await admin.get('/dashboard/queues'), {}, 'value="email"');
  t.match(textOf(resumed), 'messages / email working');
  await until(
    async () => / Status (sent|delivered)/.test(textOf(await admin.get(queued.url.pathname))),
    20_000,
  );
  t.pass('the message was sent');

  for (const [action, words] of [
    ['queue.paused', 'Queue lane paused'],
    ['queue.resumed', 'Queue lane resumed'],
  ]) {
    const log = textOf(await admin.get(`/dashboard/audit?action=${action}&client=dashboard`));
    t.match(
      log,
      new RegExp(`1 entry .*${words} .*admin .*queue messages lane email`),
      'who did it is recorded',
    );
  }

  const unknown = { ...formsOf(resumed.html).find(({ html }) => html.includes('value="email"'))?.fields };
  t.equal((await admin.submit(resumed, { ...unknown, lane: 'nothing' }, 'value="email"')).status, 404);
});

t.test(
  'dead letters: a queue without any says so, and an unknown one is not a missing deployment',
  async (t) => {
    const searched = await admin.get('/dashboard/dead-letters?queue=messages');
    t.match(textOf(searched), 'Nothing matches this search.');
    t.match(searched.html, '<option value="reports">');
    t.match(textOf(await admin.get('/dashboard/dead-letters')), 'There are no dead letters.');
  },
);

t.test('reports: chosen, followed, downloaded, refused, cancelled', async (t) => {
  const choice = await admin.get('/dashboard/reports/new');
  for (const type of ['sales', 'orders', 'products', 'users', 'notifications', 'usage']) {
    t.match(choice.html, `?type=${type}"`);
  }
  const form = await admin.get('/dashboard/reports/new?type=users');
  t.match(form.html, /name="filters\.role"/);
  const refused = await admin.submit(form, { from: '2026-02-01', to: '2026-01-01', format: 'csv' }, 'format');
  t.equal(refused.status, 400);
  t.match(refused.html, 'value="2026-02-01"', 'what was entered stays');
  const wrong = await admin.submit(form, { format: 'csv', 'filters.role': 'king' }, 'format');
  t.match(wrong.html, /id="filters\.role-problem">The role must be one of/);

  const today = new Date().toISOString().slice(0, 10);
  const days = { from: today, to: today };
  const begun = await admin.submit(form, { format: 'csv', 'filters.role': 'admin', ...days }, 'format');
  t.match(begun.url.pathname, /\/dashboard\/reports\/rpt_/);
  t.match(begun.html, 'hx-trigger="every 1s"', 'it is followed while it is made');
  await until(async () => textOf(await admin.get(begun.url.pathname)).includes('Status completed'), 30_000);
  const done = await admin.get(begun.url.pathname);
  t.notMatch(done.html, 'hx-trigger="every');
  t.match(textOf(done), /Rows 1 .*Role admin/);

  const response = await fetch(`${done.url.href}/download`, { headers: { cookie: cookieOf(admin) } });
  t.equal(response.status, 200);
  t.match(response.headers.get('content-disposition'), /attachment; filename="?[\w.-]+\.csv/);
  t.match(response.headers.get('content-security-policy'), 'sandbox');
  t.match(await response.text(), /^[\s\S]*admin[\s\S]*$/);
  t.notMatch([...response.headers].join(), /eyJ/, 'no token comes along');
  const without = await fetch(`${done.url.href}/download`, { redirect: 'manual' });
  t.match(without.headers.get('location'), '/dashboard/sign-in?to=');

  const removed = await admin.submit(done, {}, '/cancel');
  t.match(textOf(removed), 'Repeat report');
  const gone = await admin.get(`${done.url.pathname}/download`);
  t.ok(gone.status >= 400, 'there is no file any more');
  t.match(gone.headers.get('content-type'), 'text/html', 'and the answer is a page');
  const again = await admin.get(
    /href="([^"]+)">Repeat report/.exec(removed.html)?.[1]?.replaceAll('&amp;', '&') ?? '',
  );
  t.match(again.html, /<option value="admin" selected>/, 'with what it was made of');

  // While its lane is paused, a report waits, and can be cancelled.
  await admin.submit(await admin.get('/dashboard/queues'), {}, 'value="reports"');
  const waiting = await admin.submit(again, { format: 'json' }, 'format');
  t.match(textOf(waiting), /Status queued .*0 %/);
  const cancelled = await admin.submit(waiting, {}, '/cancel');
  t.match(textOf(cancelled), 'Status cancelled');
  await admin.submit(await admin.get('/dashboard/queues'), {}, 'value="reports"');

  const listed = await admin.get('/dashboard/reports?status=cancelled&format=json');
  t.match(textOf(listed), '1 report found');
  t.match(textOf(await admin.get('/dashboard/reports?type=sales')), 'Nothing matches this search.');
});

t.test('products and users: imported, listed, and exported again', async (t) => {
  for (const [name, file, row] of [
    ['products', 'name;price;currency\nImported tea;12,50;EUR', ',Imported tea,,,12.5,EUR,0,active,,'],
    [
      'users',
      'username,email,role\nimported,imported@example.org,editor',
      ',imported,imported@example.org,editor,active,',
    ],
  ] as const) {
    const form = await admin.get(`/dashboard/${name}/import`);
    const checked = await admin.submit(form, { file: new File([file], `${name}.csv`) }, 'name="file"');
    t.match(textOf(checked), 'To be created 1 ');
    t.match(textOf(await admin.submit(checked, {}, '/run"')), 'Created 1 ');
    const url = `${issuer}/dashboard/${name}/export.csv?q=imported`;
    const response = await fetch(url, { headers: { cookie: cookieOf(admin) } });
    t.match(await response.text(), row);
  }
});

t.test('people who are no admins or editors see a page that says so', async (t) => {
  const user = await signedIn(demo.user);
  const paths = ['/queues', '/dead-letters', '/reports', '/signing-keys', '/identity-providers'];
  const other = `/users/${demo.admin.user_id}`;
  const ofUsers = ['/users', other, `${other}/password-reset`, `${other}/applications/app_x/end`];
  for (const path of [...paths, ...ofUsers, '/products/import', '/users/import', '/users/export.csv']) {
    const page = await user.get(`/dashboard${path}`);
    t.equal(page.status, 403, path);
    t.match(page.html, '<h1>Access denied</h1>', path);
  }
  t.equal((await fetch(`${issuer}/dashboard/queues`, { redirect: 'manual' })).status, 303);
});
