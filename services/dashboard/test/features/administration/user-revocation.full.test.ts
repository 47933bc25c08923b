import { formsOf, type Page } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build, heading } from '../../build.ts';

const built = await build(t);
const textOf = ({ html }: Page) => html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
const FORM = 'name="confirmation"';
const { browser: admin } = await built.signedIn('admin');
const { browser: ann } = await built.signedIn('ann');
const PAGE = `/dashboard/users/${built.people.ann.id}`;
const ask = async (method: string, path: string, as: string, body?: object) =>
  (await built.call<Record<string, string>>(method, path, as, body)).body;
const { client_id: app } = await ask('POST', '/api/v1/applications', 'ann', {
  ...{ name: 'Night job', type: 'machine', scopes: ['read:data'] },
});
const path = `/api/v1/applications/${app}`;
const key = (name: string) => ask('POST', `${path}/api-keys`, 'ann', { name, scopes: ['read:data'] });
const [hourly, nightly] = [await key('hourly'), await key('nightly')];
await ask('POST', `${path}/members`, 'ann', { user: 'editor', role: 'viewer' });
await ask('POST', `/api/v1/memberships/${app}/accept`, 'editor');
await ask('POST', `${path}/secrets`, 'ann', { label: 'Deploy' });
const works = async ({ api_key: key }: Record<string, string>) =>
  (await fetch(`${built.base}/api/v1/items`, { headers: { authorization: `Bearer ${key}` } })).status === 200;

t.test('an admin revokes all access of a user but for what is unticked', async (t) => {
  const page = await admin.get(PAGE);
  t.match(page.html, `href="${PAGE}/revoke-access"`);
  const question = await admin.get(`${PAGE}/revoke-access`);
  t.equal(heading(question), 'Revoke all access of ann?');
  t.match(
    textOf(question),
    /Sessions: 1 .*Webhooks pause until ann resumes them .*Everything that is ticked ends.* and that of a member only if ann confirms/,
  );
  t.match(textOf(question), /API keys hourly , Night job created .* , never used nightly , Night job/);
  t.match(
    textOf(question),
    /Client secrets Client secret, created .*:\d\d:\d\d , Night job never used Deploy , Night job created .* Members editor , Night job/,
  );

  const unticked = { ...question, html: question.html.replace(` name="${hourly.id}"`, '') };
  t.not(unticked.html, question.html);
  const refused = await admin.submit(unticked, { confirmation: 'admin' }, FORM);
  t.match([refused.status, textOf(refused)], [400, 'The name does not match. Nothing was changed.']);
  const [form] = formsOf(refused.html).filter(({ html }) => html.includes(FORM));
  t.equal(form?.fields[String(hourly.id)], undefined, 'it stays without a tick');
  t.equal(form?.fields[String(nightly.id)], 'yes');
  t.ok(await works(nightly), 'nothing has ended by that');

  const done = await admin.submit(unticked, { confirmation: 'ann' }, FORM);
  t.equal(done.url.pathname, PAGE);
  t.match(textOf(done), 'All access is revoked. Now send the person a link to choose a new password');
  t.same([await works(hourly), await works(nightly)], [true, false]);
  t.match((await ann.get('/dashboard')).url.pathname, /^\/sign-in\//);
  const log = () => admin.get(`/dashboard/audit?subject=ann&action=account.changed`);
  await until(async () => textOf(await log()).includes('All access revoked'), 5000);
  const left = await admin.get(`${PAGE}/revoke-access`);
  t.match(textOf(left), /API keys hourly/);
  t.notMatch(textOf(left), /nightly|Members/);
});

t.test('it is for admins, who revoke their own access in their account', async (t) => {
  const own = await admin.get(`/dashboard/users/${built.people.admin.id}`);
  t.match(own.html, 'href="/account/applications/revoke-access"');
  const { browser: editor } = await built.signedIn('editor');
  t.notMatch((await editor.get(PAGE)).html, 'revoke-access');
  const asked = await editor.get(`${PAGE}/revoke-access`);
  t.equal(asked.status, 403);
});
