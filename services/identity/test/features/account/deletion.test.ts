import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build, PASSWORD } from '../../build.ts';
import { alertOf, heading, isSignIn, mailsOf, signedIn } from '../../pages.ts';
import { tokensFor, untilDead } from '../../tokens.ts';

const built = await build(t);
const PAGE = '/account/delete';
const CONFIRMATION = 'name="confirmation"';
const admin = await built.login('admin');
const person = async (username: string) => {
  const id = await built.createPerson(username);
  return { id, visitor: await signedIn(built, username) };
};
const exists = async (id: string) => (await built.call('GET', `/v1/users/${id}`, admin)).status === 200;

t.test('people delete their account, once they have typed its name', async (t) => {
  const { id, visitor } = await person('dora');
  const { access_token } = await tokensFor(built, { browser: visitor, username: 'dora' });
  const login = await built.login('dora');
  await built.createApplication(login, {
    name: 'Of Dora',
    type: 'machine',
    scopes: ['read:data'],
  });
  const question = await visitor.confirm(await visitor.get('/account'), PAGE, { confirmation: 'somebody' });
  t.match(alertOf(question), /does not match/);
  t.match(question.html, /Of Dora/, 'what is lost is named');
  t.match(question.html, /Your orders are kept/, 'and what is kept');
  t.equal(await exists(id), true, 'nothing has happened yet');

  const done = await visitor.submit(question, { confirmation: 'dora' }, CONFIRMATION);
  t.match([done.status, heading(done)], [200, 'Your account is deleted']);
  t.equal(await exists(id), false);
  await untilDead(built, access_token);
  t.equal(isSignIn(await visitor.get('/account')), true, 'the session has ended');
  t.equal((await built.logIn('dora', PASSWORD)).status, 401);
  const { body } = await built.call('GET', `/api/v1/audit?filter[action]=account.deleted`, admin);
  t.match(body.data, [{ subject: id, actor: id, details: { change: 'deleted' } }]);
});

t.test(
  'it takes a sign-in of the last five minutes, a form of this session, and another admin',
  async (t) => {
    const { id, visitor } = await person('ida');
    const page = await visitor.get(PAGE);
    const sessions = (await built.database()).collection('oidc_sessions');
    const [session] = await sessions.find({ account_id: id }).toArray();
    const payload = JSON.parse(String(session?.payload));
    const aged = JSON.stringify({ ...payload, loginTs: payload.loginTs - 301 });
    await sessions.updateOne({ account_id: id }, { $set: { payload: aged } });
    t.equal(isSignIn(await visitor.get(PAGE)), true);
    t.equal(isSignIn(await visitor.submit(page, { confirmation: 'ida' }, CONFIRMATION)), true);
    t.equal(await exists(id), true);

    const { id: other, visitor: mallory } = await person('mal');
    const foreign = await mallory.get(PAGE);
    const { visitor: victim } = await person('vic');
    t.equal(
      (await victim.submit(foreign, { confirmation: 'vic' }, CONFIRMATION)).status,
      403,
      'the form of somebody else',
    );
    t.equal(await exists(other), true);

    const last = await signedIn(built, 'admin');
    const refused = await last.submit(await last.get(PAGE), { confirmation: 'admin' }, CONFIRMATION);
    t.match([refused.status, refused.html], [409, /You are the only active admin/]);
    t.equal(await exists(built.people.admin.id), true);
    t.equal(isSignIn(await built.browser().get(PAGE)), true, 'a stranger signs in first');
  },
);

t.test('the owner of a confirmed address gets a mail', async (t) => {
  const visitor = await signedIn(built, 'ann');
  await visitor.submit(await visitor.get(PAGE), { confirmation: 'ann' }, CONFIRMATION);
  const told = async () => (await mailsOf(built)).filter((mail) => /account is deleted/.test(mail));
  await until(async () => (await told()).length === 1, 5000);
  const removed = await built.call(
    'DELETE',
    `/v1/users/${built.people.admin.id}`,
    await built.machineToken(),
  );
  t.equal(removed.status, 204);
  await until(async () => (await told()).length === 2, 5000);
  t.match(
    (await told())[1],
    /To: admin@example\.org[\s\S]*account\s+admin\s+is\s+deleted/,
    'also by a program',
  );
});
