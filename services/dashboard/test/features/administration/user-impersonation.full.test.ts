import { jsonRequest } from '@gatehouse/testing/json-request';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build, heading, PASSWORD, textOf } from '../../build.ts';

const built = await build(t, { notifications: true });
const { browser: admin } = await built.signedIn('admin');
const { people } = built;
const PAGE = `/dashboard/users/${people.ann.id}`;

t.test('an admin acts as a user, after a page that asks for a reason', async (t) => {
  const question = await admin.confirm(await admin.get(PAGE), '/impersonate', { confirmation: '' });
  t.equal(heading(question), 'Act as ann?');
  t.match(
    textOf(question),
    /The person gets a mail with your name and the reason.*the audit log has the reason/,
  );
  const refused = await admin.submit(question, { reason: ' – ' }, '/impersonate');
  t.match(refused.html, /id="reason-problem"[^>]*>[^<]*is required/i);
  const created = await admin.submit(refused, { reason: 'Ticket 4711' }, '/impersonate');
  t.equal(created.url.pathname, PAGE);
  const [, token = ''] = /id="impersonation-token"[^>]*><code>([\w.-]+)</.exec(created.html) ?? [];
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  t.match(claims, { sub: people.ann.id, act: { sub: people.admin.id } });
  t.match(textOf(created), 'It is shown only once. It works until');
  t.notMatch((await admin.get(PAGE)).html, 'impersonation-token', 'once');

  t.equal((await jsonRequest('GET', `${built.base}/v2/orders`, { token })).status, 200);
  await until(async () => /admin \(admin\) 1\b/.test(textOf(await admin.get('/dashboard'))), 30_000);
  t.match(
    textOf(await admin.get('/dashboard/requests')),
    /GET . v2. orders .* 200 .* the dashboard/,
    'also by the dashboard',
  );
});

t.test('the button is not there for other admins, nor for an editor', async (t) => {
  const draft = { username: 'boss', email: 'boss@example.org', password: PASSWORD };
  const { body: boss } = await built.call<{ id: string }>('POST', '/v2/users', 'admin', draft);
  const page = `/dashboard/users/${boss.id}`;
  t.match((await admin.get(page)).html, '/impersonate');
  await built.call('PUT', `/v2/users/${boss.id}/role`, 'admin', { role: 'admin' });
  t.notMatch((await admin.get(page)).html, '/impersonate');
  const { browser: editor } = await built.signedIn('editor');
  t.notMatch((await editor.get(PAGE)).html, '/impersonate');
  const question = await editor.get(`${PAGE}/impersonate`);
  t.equal((await editor.submit(question, { reason: 'Ticket 4711' }, '/impersonate')).status, 403);
});
