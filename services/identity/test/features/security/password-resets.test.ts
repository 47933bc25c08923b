import { hash, randomBytes } from 'node:crypto';
import t from 'tap';
import { build, PASSWORD } from '../../build.ts';
import { type Caller, callers } from '../../callers.ts';
import { heading, linkTo, mailsOf, newPerson } from '../../pages.ts';

const masterKey = randomBytes(32);
const built = await build(t, { masterKey, checkResponses: true, config: { freshSignIn: 'on' } });
const { browser, call } = built;
const database = await built.database();
const RESETS = '/api/v1/password-resets';
const NEXT = 'another horse battery';

/** Makes an account with an address that is confirmed, and returns its id. */
async function newAccount(username: string): Promise<string> {
  const visitor = await newPerson(built, username);
  await visitor.submit(await visitor.get(await linkTo(built, `${username}@example.org`)), {});
  return String((await built.logIn(username)).body.user_id);
}

const id = await newAccount('ben');
const tokens = await callers(built, { masterKey, person: 'ben' });
const admin = tokens['an admin'];
const reset = (userId = id) => call('POST', RESETS, admin, { user_id: userId });
const mailsTo = async (address: string) =>
  (await mailsOf(built)).filter((mail) => mail.startsWith(`To: ${address}`));
const forgetAttempts = () => database.collection('sign_in_counters').deleteMany({});

t.test('the link in the mail sets a new password once, and until then the old one works', async (t) => {
  const before = Date.now();
  const { status, body } = await reset();
  t.equal(status, 202);
  const minutes = (Date.parse(String(body.expires_at)) - before) / 60_000;
  t.ok(minutes > 29.9 && minutes < 30.1, `${minutes}`);
  t.strictSame(Object.keys(body), ['expires_at'], 'the admin does not see the link');
  const mail = (await mailsTo('ben@example.org')).at(-1) ?? '';
  const link = await linkTo(built, 'ben@example.org');
  t.match(mail, link);

  const visitor = browser();
  await visitor.submit(await visitor.get('/account/forgotten-password'), { login: 'ben' });
  const own = await linkTo(built, 'ben@example.org');
  const asked = (await mailsTo('ben@example.org')).at(-1) ?? '';
  const bare = (text: string) => text.replaceAll(/token=[\w-]+|^(?:Date|Message-ID):.*$/gm, '');
  t.equal(bare(asked), bare(mail), 'the same as for those who ask themselves');
  t.equal((await browser().get(link)).status, 400, 'a later link replaces it');
  t.equal((await browser().get(own)).status, 200);

  await reset();
  const last = await linkTo(built, 'ben@example.org');
  t.equal((await built.logIn('ben')).status, 200);
  const page = await visitor.get(last);
  t.equal(heading(page), 'Choose a new password');
  const done = await visitor.submit(page, { new_password: NEXT });
  t.equal(heading(done), 'Your new password is saved');
  t.equal((await browser().get(last)).status, 400, 'it works once');
  t.equal((await built.logIn('ben', PASSWORD)).status, 401);
  t.equal((await built.logIn('ben', NEXT)).status, 200);

  const entries = await database.collection('audit_log').find({ action: 'password_reset.sent' }).toArray();
  t.match(entries, [
    { subject: id, actor: built.people.admin.id },
    { subject: id, actor: built.people.admin.id },
  ]);
  const stored = JSON.stringify([entries, await database.collection('one_time_links').find().toArray()]);
  const token = new URL(last).searchParams.get('token') ?? '';
  t.notMatch(stored, token);
  t.notMatch(JSON.stringify(entries), hash('sha256', token, 'base64url'));
  await forgetAttempts();
});

const RESET_PATH = '/account/new-password?token=';

/** What each of them gets. */
const MATRIX: Record<Caller, number> = {
  nobody: 401,
  'the person': 403,
  'somebody else': 403,
  'an editor': 403,
  'an admin': 202,
  'an admin who signed in six minutes ago': 401,
  'an application of an admin': 403,
  'a machine': 403,
};
for (const [name, status] of Object.entries(MATRIX) as [Caller, number][]) {
  t.test(`password resets: ${name}`, async (t) => {
    const token = name === 'the person' ? await built.login('ben', NEXT) : tokens[name];
    // One about the new device at the sign-in above may still come.
    const resets = async () =>
      (await mailsTo('ben@example.org')).filter((it) => it.includes(RESET_PATH)).length;
    const before = await resets();
    t.equal((await call('POST', RESETS, token, { user_id: id })).status, status);
    t.equal((await resets()) - before, status === 202 ? 1 : 0);
  });
}

t.test('who gets no mail, and why', async (t) => {
  const inactive = await newAccount('ina');
  await call('PUT', `/v2/users/${inactive}/status`, admin, { status: 'inactive' });
  const nora = String((await call('POST', '/users', tokens['a machine'], { name: 'nora' })).body.id);
  const una = await built.createPerson('una');
  const sent = (await mailsOf(built)).length;
  for (const [userId, status, message] of [
    [inactive, 409, 'The account is inactive.'],
    [nora, 409, /^The account has no email address\. Create a set-up link instead\.$/],
    [una, 409, /^The email address of the account is not confirmed\. Create a set-up link/],
    ['usr_nobody', 404, 'There is no such user.'],
  ] as const) {
    t.match(await reset(userId), { status, body: { error: { message } } }, String(message));
  }
  t.equal((await call('POST', RESETS, admin, {})).status, 400);
  t.equal((await call('POST', RESETS, admin, { user_id: id, link: 'https://evil.example' })).status, 400);
  t.equal((await mailsOf(built)).length, sent);
  t.equal(await database.collection('audit_log').countDocuments({ action: 'password_reset.sent' }), 3);
});

t.test('an admin adds to what others have asked for, and learns when there is too much of it', async (t) => {
  await forgetAttempts();
  const ann = built.people.ann.id;
  const visitor = browser();
  await visitor.submit(await visitor.get('/account/forgotten-password'), { login: 'ann' });
  await linkTo(built, 'ann@example.org');
  t.equal((await reset(ann)).status, 202);
  t.equal((await reset(ann)).status, 202);
  const { status, headers, body } = await reset(ann);
  t.equal(status, 429);
  t.ok(Number(headers.get('retry-after')) > 500);
  t.match(body, { error: { message: /^Too many attempts: try again in \d+ s\.$/ } });
  t.equal((await reset()).status, 202, 'for somebody else');
});

t.test('an admin learns that a mail could not be sent', async (t) => {
  await forgetAttempts();
  const mail = { smtpUrl: 'smtp://127.0.0.1:9', from: 'gatehouse@example.org' };
  const replica = await built.replica({ mail });
  const response = await fetch(replica + RESETS, {
    method: 'POST',
    headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
    body: JSON.stringify({ user_id: id }),
  });
  t.equal(response.status, 503);
  t.match(await response.json(), { error: { message: 'The mail could not be sent.' } });
});
