import { createFormBrowser } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import { decodeJwt } from 'jose';
import t from 'tap';
import { MAX_INVITATIONS } from '../../../src/features/invitations/invitation.ts';
import { build, PASSWORD } from '../../build.ts';
import { alertOf, heading, linkTo, mailsOf, signedIn, usersSwitch, valueIn } from '../../pages.ts';

const built = await build(t, { checkResponses: true, config: { signUp: 'off' } });
const { call } = built;
const admin = await built.login('admin');
const path = '/api/v1/invitations';
const bases = [built.base, await built.replica({ signUp: 'off' })];
const invitations = async () => (await built.database()).collection('invitations');

/** Invites an address, and returns the link of the mail. */
async function invite(email: string, more: object = {}, by = admin) {
  const { status, body } = await call('POST', path, by, { email, ...more });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return { id: String(body.id), link: await linkTo(built, email) };
}
const CREATE = 'name="username"';
const fields = (username: string) => ({ username, name: 'Ida', password: PASSWORD });

t.test('somebody is invited, creates an account, and signs in with a confirmed address', async (t) => {
  const { id, link } = await invite('Ida@example.org');
  t.match((await call('GET', path, admin)).body, { data: [{ id, email: 'Ida@example.org' }] });
  t.match((await call('GET', `${path}/${id}`, admin)).body, { id });
  const token = new URL(link, built.base).searchParams.get('token') ?? '';
  t.notMatch(JSON.stringify(await (await invitations()).find().toArray()), token, 'the token is not stored');
  const visitor = built.browser();
  const page = await visitor.get(link);
  t.match(page.html, 'You are invited to Gatehouse');
  t.equal(valueIn(page, 'email'), undefined, 'the address cannot be changed');
  t.match(page.headers.get('referrer-policy'), 'no-referrer');
  const sent = { ...fields('ida'), email: 'mallory@example.org', role: 'admin', email_verified: 'true' };
  const done = await visitor.submit(page, sent, CREATE);
  t.equal(heading(done), 'Your account is ready', done.html);
  const login = await built.login('ida@example.org');
  t.match(decodeJwt(login), { roles: ['user'] }, 'the address signs in, so it is confirmed');
  t.equal(heading(await visitor.get(link)), 'This invitation no longer works');
  t.strictSame((await call('GET', path, admin)).body.data, []);
  const audit = await call('GET', '/api/v1/audit?filter[action]=account.created', admin);
  t.match((audit.body.data as object[])[0], {
    details: { invitation: id, invited_by: built.people.admin.id },
  });
});

t.test('the account gets the role and the membership that the page names', async (t) => {
  const first = built.browser();
  await first.submit(await first.get((await invite('olga@example.org')).link), fields('olga'), CREATE);
  const owner = await built.login('olga');
  const machine = { name: 'Lighthouse', type: 'machine', scopes: ['read:data'] };
  const { client_id } = await built.createApplication(owner, machine);
  const application = { client_id, role: 'developer' };
  const { id, link } = await invite('edda@example.org', { role: 'editor', application });
  t.match((await call('GET', `${path}/${id}`, admin)).body, { role: 'editor', application });
  const mail = (await mailsOf(built)).find((it) => it.includes('To: edda@')) ?? '';
  t.match(mail, /admin has invited you\..*role editor.*application Lighthouse/s);
  const visitor = built.browser();
  const page = await visitor.get(link);
  t.match(
    page.html.replaceAll(/<[^>]+>/g, ''),
    /will have the role editor.*application Lighthouse, with the role developer/s,
  );
  const done = await visitor.submit(page, { ...fields('edda'), role: 'admin' }, CREATE);
  t.equal(heading(done), 'Your account is ready', done.html);
  const edda = await built.login('edda');
  t.match(decodeJwt(edda), { roles: ['editor'] });
  t.match((await call('GET', '/api/v1/memberships', edda)).body.data, [
    { ...application, status: 'accepted' },
  ]);
  t.equal((await call('PATCH', `/api/v1/applications/${client_id}`, edda, { name: 'Beacon' })).status, 200);
  const isToOwner = (mail: string) => /To: olga@.*Somebody was invited to your application/s.test(mail);
  await until(async () => (await mailsOf(built)).some(isToOwner), 5000);
  const audit = await call('GET', `/api/v1/audit?filter[action]=member.accepted`, admin);
  t.match((audit.body.data as object[])[0], {
    ...{ client: client_id, details: { invitation: id, invited_by: built.people.admin.id } },
  });

  // A new owner did not give the membership.
  const later = await invite('later@example.org', { role: 'admin', application });
  await call('POST', `/api/v1/applications/${client_id}/transfer`, admin, { to: 'admin' });
  t.match((await call('GET', `${path}/${later.id}`, admin)).body, { role: 'admin', application: null });
  const back = await call('POST', `/api/v1/applications/${client_id}/transfer`, admin, { to: 'olga' });
  const accepted = await call('POST', `/api/v1/transfers/${back.body.id}/accept`, await built.login('olga'));
  t.equal(accepted.status, 200, JSON.stringify(accepted.body));
  t.match(
    (await call('GET', `${path}/${later.id}`, admin)).body,
    { application: null },
    'which changes nothing',
  );
  const next = await visitor.get(later.link);
  t.notMatch(next.html, 'Beacon');
  await visitor.submit(next, fields('later'), CREATE);
  const other = await built.login('later');
  t.match(decodeJwt(other), { roles: ['admin'] });
  t.same((await call('GET', '/api/v1/memberships', other)).body.data, []);
});

t.test(
  'a role of somebody who is no admin any more is given to nobody, also with the form open',
  async (t) => {
    const id = await built.createPerson('fallen', 'admin');
    const { link } = await invite('heir@example.org', { role: 'admin' }, await built.login('fallen'));
    const visitor = built.browser();
    const page = await visitor.get(link);
    await call('PUT', `/v2/users/${id}/role`, admin, { role: 'user' });
    t.equal(heading(await visitor.submit(page, fields('heir'), CREATE)), 'This invitation no longer works');
    t.equal((await built.logIn('heir', PASSWORD)).status, 401);
  },
);

t.test('of several at once, over all replicas, one creates an account', async (t) => {
  const { link } = await invite('many@example.org');
  const { pathname, search } = new URL(link, built.base);
  const forms = await Promise.all(
    [0, 1, 2, 3].map(async (i) => {
      const visitor = createFormBrowser(bases[i % 2] ?? '');
      return { visitor, page: await visitor.get(pathname + search) };
    }),
  );
  const titles = await Promise.all(
    forms.map(async ({ visitor, page }, i) =>
      heading(await visitor.submit(page, fields(`many${i}`), CREATE)),
    ),
  );
  t.equal(titles.filter((title) => title === 'Your account is ready').length, 1, titles.join());
  t.equal(titles.filter((title) => title === 'This invitation no longer works').length, 3);
});

t.test('what is wrong can be corrected, and the invitation is still good', async (t) => {
  const { link } = await invite('tess@example.org');
  const visitor = built.browser();
  let page = await visitor.get(link);
  for (const [wrong, message] of [
    [{ username: 'ann' }, /taken/i],
    [{ username: 'a b' }, /username/i],
    [{ password: 'short' }, /password/i],
  ] as const) {
    page = await visitor.submit(page, { ...fields('tess'), ...wrong }, CREATE);
    t.match(alertOf(page), message);
    t.match([page.status >= 400, valueIn(page, 'name')], [true, 'Ida']);
  }
  t.equal(heading(await visitor.submit(page, fields('tess'), CREATE)), 'Your account is ready');
});

t.test('a link that was revoked, replaced, or has expired does not work, nor does another one', async (t) => {
  const revoked = await invite('gone@example.org');
  const form = await built.browser().get(revoked.link);
  t.equal((await call('DELETE', `${path}/${revoked.id}`, admin)).status, 204);
  t.equal((await call('DELETE', `${path}/${revoked.id}`, admin)).status, 404);
  const first = await invite('twice@example.org');
  const second = await invite('TWICE@example.org');
  const expired = await invite('late@example.org');
  const past = { $set: { expires_at: new Date(0) } };
  await (await invitations()).updateOne({ _id: expired.id as never }, past);
  for (const link of [
    revoked.link,
    first.link,
    expired.link,
    '/account/invitation',
    '/account/invitation?token=x',
  ]) {
    const page = await built.browser().get(link);
    t.match([page.status, heading(page)], [400, 'This invitation no longer works']);
  }
  t.match(
    (await built.browser().submit(form, fields('gone'), CREATE)).status,
    403,
    'the form of another browser',
  );
  t.equal((await built.browser().get(second.link)).status, 200);
});

t.test('an invitation of somebody who is no admin any more is not listed', async (t) => {
  const id = await built.createPerson('deputy', 'admin');
  const deputy = await built.login('deputy');
  const { body } = await call('POST', path, deputy, { email: 'dora@example.org' });
  const listed = async () =>
    ((await call('GET', path, admin)).body.data as { id: string }[]).map((it) => it.id);
  t.ok((await listed()).includes(String(body.id)));
  for (const role of ['user', 'admin']) {
    t.equal((await call('PUT', `/v2/users/${id}/role`, admin, { role })).status, 204);
    t.notOk((await listed()).includes(String(body.id)), role);
    t.equal((await call('GET', `${path}/${body.id}`, admin)).status, 404);
  }
  t.equal(
    await (await invitations()).countDocuments({ _id: body.id as never }),
    0,
    'it makes room for others',
  );
});

t.test('an address that somebody else has confirmed since makes no further accounts', async (t) => {
  const { id, link } = await invite('held@example.org');
  const held = { $set: { email: 'ann@example.org' } };
  await (await invitations()).updateOne({ _id: id as never }, held);
  const visitor = built.browser();
  const page = await visitor.get(link);
  t.match((await visitor.submit(page, fields('held1'), CREATE)).html, 'belongs to another account');
  await visitor.submit(page, fields('held2'), CREATE);
  const created = await call('GET', '/api/v1/audit?filter[action]=account.created', admin);
  const ofInvitation = (created.body.data as { details?: { invitation?: string } }[]).filter(
    ({ details }) => details?.invitation === id,
  );
  t.ok(ofInvitation.length <= 1, `${ofInvitation.length} accounts`);
});

t.test('an account whose address could not be confirmed is the only one of its invitation', async (t) => {
  const users = await usersSwitch(t);
  const away = await build(t, { config: { signUp: 'off', usersUrl: users.url } });
  users.state.target = away.base;
  const { body } = await away.call('POST', path, await away.login('admin'), { email: 'una@example.org' });
  t.match(body, { email: 'una@example.org' });
  const link = await linkTo(away, 'una@example.org');
  const visitor = away.browser();
  const page = await visitor.get(link);
  const submit = () => visitor.submit(page, fields('una'), CREATE);
  const failed = await users.whileHeld('/verified-email', submit, async () => {
    users.state.target = 'http://127.0.0.1:1';
  });
  users.state.target = away.base;
  t.equal(failed.status, 503);
  t.equal((await away.logIn('una', PASSWORD)).status, 200, 'the account is there');
  const again = await visitor.submit(page, fields('una2'), CREATE);
  t.equal(heading(again), 'This invitation no longer works');
});

t.test('who may invite, and whom', async (t) => {
  t.match(await call('POST', path, admin, { email: 'ann@example.org' }), { status: 409 });
  for (const email of [
    '',
    'nobody',
    'a b@example.org',
    'a@b@c',
    `${'x'.repeat(300)}@example.org`,
    'a\u202eb@example.org',
    7,
  ]) {
    t.equal((await call('POST', path, admin, { email })).status, 400, String(email).slice(0, 20));
  }
  const role = 'viewer';
  for (const [more, field] of [
    [{ role: 'owner' }, 'role'],
    [{ email_verified: true }, 'email_verified'],
    [{ application: { client_id: 'app_nothing', role } }, 'application.client_id'],
    [{ application: { client_id: 'app_nothing', role: 'owner' } }, 'application.role'],
    [{ application: { client_id: 'app_nothing' } }, 'application.role'],
  ] as const) {
    const { status, body } = await call('POST', path, admin, { email: 'x@example.org', ...more });
    t.match([status, body.error], [400, { details: [{ field }] }], JSON.stringify(more));
  }
  for (const token of [await built.login('ann'), await built.machineToken()]) {
    t.equal((await call('POST', path, token, { email: 'x@example.org' })).status, 403);
    t.equal((await call('GET', path, token)).status, 403);
  }
  const now = new Date(Date.now() + 60_000);
  await (await invitations()).insertMany(
    Array.from({ length: MAX_INVITATIONS }, (_, i) => ({
      ...{
        _id: `inv_${i}` as never,
        email: `${i}`,
        email_key: `${i}`,
        token_hash: `${i}`,
        invited_by: built.people.admin.id,
      },
      ...{ created_at: now, expires_at: now },
    })),
  );
  t.match(await call('POST', path, admin, { email: 'x@example.org' }), { status: 409 });
  t.notOk((await mailsOf(built)).some((mail) => mail.includes('x@example.org')));
  t.equal((await (await signedIn(built, 'ann')).get('/account')).status, 200);
});
