import { freePort } from '@gatehouse/testing/processes';
import t from 'tap';
import { parseExactly } from '../../../src/features/account/export/service-lists.ts';
import { build } from '../../build.ts';
import { alertOf, isSignIn, signedIn } from '../../pages.ts';

const built = await build(t);
const PAGE = '/account/export';

t.test('people download what identity holds about them, and nothing of others', async (t) => {
  const id = await built.createPerson('dora');
  const other = await built.createPerson('eve');
  for (const name of ['dora', 'eve']) {
    const login = await built.login(name);
    await built.createApplication(login, { name: `Of ${name}`, type: 'machine', scopes: ['read:data'] });
  }
  const visitor = await signedIn(built, 'dora');
  const { html, headers } = await visitor.submit(await visitor.get(PAGE), {}, PAGE);
  t.match(headers.get('content-type'), /^application\/json/);
  t.match(headers.get('cache-control'), /no-store/);
  t.equal(headers.get('content-disposition'), `attachment; filename="gatehouse-data-${id}.json"`);
  const data = JSON.parse(html);
  t.match(data, {
    exported_at: /^\d{4}-/,
    profile: { id, username: 'dora', email: String },
    passkeys_and_second_factors: [],
    connected_accounts: [],
    authorized_applications: [],
    own_applications: [{ name: 'Of dora', type: 'machine', scopes: ['read:data'] }],
  });
  t.equal(data.own_applications.length, 1);
  t.ok(data.sessions.length >= 2, 'that of the browser and that of the login');
  t.match(data.activity.at(-1), { subject: id, action: /^[a-z_.]+$/ });
  t.match(new Set(data.activity.map(({ subject }: { subject: string }) => subject)), new Set([id]));
  t.notMatch(html, new RegExp(`${other}|Of eve|epoch|hash|"secret"`));
  const log = `/api/v1/audit?filter[action]=account.exported`;
  const { body } = await built.call('GET', log, await built.login('admin'));
  t.match(body.data, [{ subject: id, actor: id }]);
});

t.test('an admin gets what the admin did to others neither, nor where other admins were', async (t) => {
  const id = await built.createPerson('ada');
  const admin = await built.login('admin');
  await built.call('PUT', `/v2/users/${id}/role`, admin, { role: 'editor' });
  const visitor = await signedIn(built, 'ada');
  const { html } = await visitor.submit(await visitor.get(PAGE), {}, PAGE);
  const change = JSON.parse(html).activity.find(
    ({ action, actor }: Record<string, unknown>) => action === 'account.changed' && actor !== id,
  );
  t.match(change, { actor: built.people.admin.id, address: null, user_agent: null });
  const own = await signedIn(built, 'admin');
  const file = await own.submit(await own.get(PAGE), {}, PAGE);
  t.notMatch(JSON.stringify(JSON.parse(file.html).activity), id);
});

t.test('it takes a form of this session, and a sign-in of the last five minutes', async (t) => {
  const id = await built.createPerson('ida');
  const visitor = await signedIn(built, 'ida');
  const page = await visitor.get(PAGE);
  await built.createPerson('mal');
  const mallory = await signedIn(built, 'mal');
  const foreign = await mallory.submit(page, {}, PAGE);
  t.equal(foreign.status, 403);
  t.notMatch(foreign.html, /"profile"/);
  const sessions = (await built.database()).collection('oidc_sessions');
  const [session] = await sessions.find({ account_id: id }).toArray();
  const payload = JSON.parse(String(session?.payload));
  const aged = JSON.stringify({ ...payload, loginTs: payload.loginTs - 301 });
  await sessions.updateOne({ account_id: id }, { $set: { payload: aged } });
  t.equal(isSignIn(await visitor.get(PAGE)), true);
  t.equal(isSignIn(await visitor.submit(page, {}, PAGE)), true);
  t.equal(isSignIn(await built.browser().get(PAGE)), true, 'a stranger signs in first');
});

t.test('while a service is away there is no file, but a page that says so', async (t) => {
  const away = await build(t, { config: { itemsUrl: `http://127.0.0.1:${await freePort()}` } });
  await away.createPerson('dora');
  const visitor = await signedIn(away, 'dora');
  for (let i = 0; i < 2; i += 1) {
    const refused = await visitor.submit(await visitor.get(PAGE), {}, PAGE);
    t.equal(refused.status, 503, 'also the second time');
    t.equal(alertOf(refused), 'Some of your data cannot be read at the moment. Try again in a few minutes.');
  }
});

t.test('numbers keep their digits', async (t) => {
  for (const text of ['{"value":12.50}', '[123456789012345678901234567890,1e400,-0.0,1]', '"12.50"']) {
    t.equal(JSON.stringify(parseExactly(text)), text);
  }
});
