import { formsOf } from '@gatehouse/testing/form-browser';
import t from 'tap';
import { authorizeUrl, build, PASSWORD, signInAndAllow } from '../../../build.ts';
import { alertOf, heading, isSignIn, newPerson, signedIn } from '../../../pages.ts';

const built = await build(t);
const { call } = built;
const PAGE = '/account/applications/revoke-access';
const FORM = 'name="confirmation"';
const textOf = ({ html }: { html: string }) => html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
const works = async (key: unknown) =>
  (await call('GET', '/api/v1/auth/permissions', String(key))).status === 200;

/** A person with an application, which has two keys and a member, a second session and a consent. */
async function person(username: string) {
  const visitor = await newPerson(built, username);
  const elsewhere = await signedIn(built, username);
  await signInAndAllow(elsewhere, authorizeUrl({ scope: 'openid' }), username);
  const token = await built.login(username);
  const application = { name: 'Night job', type: 'machine', scopes: ['read:data'] };
  const { client_id: id } = await built.createApplication(token, application);
  const make = async (name: string) => {
    const draft = { name, scopes: ['read:data'] };
    return (await call('POST', `/api/v1/applications/${id}/api-keys`, token, draft)).body;
  };
  const keys = [await make('hourly'), await make('nightly'), await make('later')] as const;
  await call('POST', `/api/v1/applications/${id}/members`, token, { user: 'ann', role: 'viewer' });
  await call('POST', `/api/v1/memberships/${id}/accept`, await built.login('ann'));
  return { visitor, elsewhere, token, keys, id };
}

t.test('people revoke all access of their own but for what they untick', async (t) => {
  const { visitor, elsewhere, token, keys } = await person('kim');
  const [hourly, nightly] = keys;
  t.match((await visitor.get('/account/applications')).html, `href="${PAGE}"`);
  const page = await visitor.get(PAGE);
  t.equal(heading(page), 'Revoke all access?');
  t.match(textOf(page), 'This ends 2 sessions, 1 login and 1 application with access, and all invitations');
  t.match(textOf(page), /API keys hourly , Night job created on .* UTC , never used nightly , Night job/);
  t.match(textOf(page), /Client secrets Night job created .* Members ann , Night job/);

  const [{ fields = {}, html = '' } = {}] = formsOf(page.html).filter((it) => it.html.includes(FORM));
  t.equal(fields[String(hourly.id)], 'yes', 'everything is ticked');
  // As a browser sends it: the field of a box without a tick is missing.
  const unticked = { ...page, html: html.replace(` name="${hourly.id}"`, '') };
  t.not(unticked.html, html);
  const refused = await visitor.submit(unticked, { confirmation: 'ann' });
  t.equal(refused.status, 400);
  t.match(alertOf(refused), 'The name does not match. Nothing was changed.');
  const [again] = formsOf(refused.html).filter((it) => it.html.includes(FORM));
  t.equal(again?.fields[String(hourly.id)], undefined, 'it stays without a tick');
  t.equal(again?.fields[String(nightly.id)], 'yes');
  for (const { api_key: key } of keys) t.ok(await works(key), 'nothing has ended by that');
  t.notOk(isSignIn(await elsewhere.get('/account')));

  const done = await visitor.submit(unticked, { confirmation: 'kim' });
  t.equal(heading(done), 'You are signed out');
  t.match(textOf(done), 'All access to your account has been revoked. Sign in again, choose a new password');
  t.same(await Promise.all(keys.map((it) => works(it.api_key))), [true, false, false]);
  t.notOk(await works(token), 'the login');
  for (const browser of [visitor, elsewhere]) t.ok(isSignIn(await browser.get('/account')));
  t.equal((await call('GET', '/api/v1/memberships', await built.login('ann'))).status, 200);
  const { body } = await call(
    'GET',
    '/api/v1/audit?filter[action]=account.changed',
    await built.login('admin'),
  );
  const [entry] = body.data as { client_id: string; details: object }[];
  t.match(entry, { details: { change: 'revoked', scope: 'everything', kept: [hourly.id] } });

  const left = await (await signedIn(built, 'kim')).get(PAGE);
  t.match(left.html, 'hourly');
  t.notMatch(left.html, /nightly|<bdi>ann</);
});

t.test('the key of a member is kept with the member, or not at all', async (t) => {
  const { visitor, id } = await person('lea');
  const ann = await built.login('ann');
  await call('POST', `/api/v1/applications/${id}/members`, await built.login('lea'), {
    user: 'ann',
    role: 'developer',
  });
  const key = (
    await call('POST', `/api/v1/applications/${id}/api-keys`, ann, { name: 'of ann', scopes: ['read:data'] })
  ).body;
  const page = await visitor.get(PAGE);
  t.match(textOf(page), /of ann , Night job created on .* UTC , made by ann , never used/);
  const untick = (html: string) => html.replace(` name="${key.id}"`, '');
  const refused = await visitor.submit({ ...page, html: untick(page.html) }, { confirmation: 'lea' }, FORM);
  t.equal(refused.status, 400);
  t.match(alertOf(refused), 'Keep the member as well, or take it over first.');
  t.ok(await works(key.api_key), 'nothing has ended by that');

  const anns = await signedIn(built, 'ann');
  t.match(
    textOf(await anns.get(PAGE)),
    'What you made in applications of others ends, too: API keys: of ann , Night job',
  );
  const member = / name="(\w+)"[^>]*><label[^>]*><bdi>ann</.exec(refused.html)?.[1];
  const both = refused.html.replace(` name="${member}"`, '');
  t.equal(
    heading(await visitor.submit({ ...refused, html: both }, { confirmation: 'lea' }, FORM)),
    'You are signed out',
  );
  t.ok(await works(key.api_key));
});

t.test('an entry that came after the page ends, too', async (t) => {
  const { visitor, keys } = await person('joe');
  const page = await visitor.get(PAGE);
  const later = String(keys[2].id);
  const html = page.html.replaceAll(` ${later}`, '').replace(` name="${later}"`, '');
  await visitor.submit({ ...page, html }, { confirmation: 'joe' }, FORM);
  t.notOk(await works(keys[2].api_key));
});

t.test('it takes a sign-in of the last five minutes', async (t) => {
  const { visitor, keys } = await person('ida');
  const page = await visitor.get(PAGE);
  const sessions = (await built.database()).collection<{ _id: string; payload: string }>('oidc_sessions');
  for (const { _id, payload } of await sessions.find({}).toArray()) {
    const session = JSON.parse(payload);
    if (session.loginTs === undefined) continue;
    const aged = JSON.stringify({ ...session, loginTs: session.loginTs - 301 });
    await sessions.updateOne({ _id }, { $set: { payload: aged } });
  }
  t.ok(isSignIn(await visitor.get(PAGE)));
  const asked = await visitor.submit(page, { confirmation: 'ida' }, FORM);
  t.ok(isSignIn(asked));
  t.ok(await works(keys[0].api_key), 'nothing has ended by that');
  const back = await visitor.submit(asked, { username: 'ida', password: PASSWORD }, 'name="password"');
  t.equal(heading(back), 'Revoke all access?');
});
