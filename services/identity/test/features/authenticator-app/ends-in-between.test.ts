import { setTimeout as delay } from 'node:timers/promises';
import { formsOf } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build, PASSWORD } from '../../build.ts';
import { heading, isSignIn, send, signedIn } from '../../pages.ts';
import { codeOf, enterPassword, forgetCodes, withApp } from './app.ts';

const built = await build(t);
type Person = Awaited<ReturnType<typeof withApp>>;

const endAll = async ({ id }: Person) =>
  built.call('DELETE', `/api/v1/sessions?user_id=${id}`, await built.login('admin'));
const changePassword = async ({ visitor }: Person) =>
  visitor.submit(
    await visitor.get('/account/password'),
    { current_password: PASSWORD, new_password: PASSWORD },
    'current_password',
  );
const browsersOf = async ({ id }: Person) =>
  (await built.database()).collection('remembered_browsers').countDocuments({ user_id: id });

/** Enters the password; the result sends the code, and does not follow where the response leads. */
async function beforeCode(visitor: Person['visitor'], { username, secret }: Person) {
  const page = await enterPassword(visitor, username);
  const form = formsOf(page.html).find(({ html }) => html.includes('authenticator_app'));
  const fields = { ...form?.fields, authenticator_app: codeOf(secret), remember_browser: 'yes' };
  return () => send(built, 'POST', page.url.pathname, { browser: visitor, fields });
}

t.test('what ends sign-ins ends one whose code is right, and which has no session yet', async (t) => {
  for (const [name, end] of Object.entries({ endAll, changePassword })) {
    const person = await withApp(built, `between${name}`);
    const visitor = built.browser();
    const posted = await (await beforeCode(visitor, person))();
    t.equal(posted.status, 303, name);
    await end(person);
    await visitor.get(String(posted.headers.get('location')));
    t.ok(isSignIn(await visitor.get('/account/security')), name);
    await forgetCodes(built, person.id);
    t.equal(heading(await enterPassword(visitor, person.username)), 'Enter a code', name);
  }
});

t.test(
  'a browser is not remembered after the end of all sessions, in whichever order both come',
  async (t) => {
    const person = await withApp(built, 'orders');
    const admin = await built.login('admin');
    for (let i = 0; i < 8; i += 1) {
      await forgetCodes(built, person.id);
      const sendCode = await beforeCode(built.browser(), person);
      const end = () => built.call('DELETE', `/api/v1/sessions?user_id=${person.id}`, admin);
      await Promise.all([sendCode(), delay(4 * i).then(end)]);
      t.equal(await browsersOf(person), 0);
    }
  },
);

t.test('a sign-in that stops before the second factor is in the audit log', async (t) => {
  const person = await withApp(built, 'stopper');
  await enterPassword(built.browser(), person.username);
  t.equal((await built.logIn(person.username)).status, 403);
  const log = (await built.database()).collection('audit_log');
  const clients = async () =>
    (await log.find({ subject: person.id, action: 'sign_in.challenged' }).toArray()).map(
      ({ client }) => client,
    );
  await until(async () => (await clients()).length === 2, 5000);
  t.strictSame((await clients()).sort(), ['gatehouse-account', 'gatehouse-login']);
  await signedIn(built, 'ann');
  t.equal(await log.countDocuments({ subject: built.people.ann.id, action: 'sign_in.challenged' }), 0);
});
