import { createHmac } from 'node:crypto';
import t from 'tap';
import { build, codeOf, heading, PASSWORD, textOf } from '../../build.ts';

const built = await build(t);
const { browser: admin } = await built.signedIn('admin');
const { ann } = built.people;
const PAGE = `/dashboard/users/${ann.id}`;

/** The code of now of a key in base32 (RFC 6238 with SHA-1, six digits and 30 seconds). */
function totp(key: string): string {
  const bits = [...key].map((it) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(it).toString(2).padStart(5, '0'),
  );
  const bytes =
    bits
      .join('')
      .match(/.{8}/g)
      ?.map((byte) => Number.parseInt(byte, 2)) ?? [];
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const mac = createHmac('sha1', Buffer.from(bytes)).update(step).digest();
  const at = (mac.at(-1) ?? 0) & 15;
  return String((mac.readUInt32BE(at) & 0x7fff_ffff) % 1_000_000).padStart(6, '0');
}

const { browser: owner } = await built.signedIn('ann');
const setUp = await owner.get('/account/authenticator-app/set-up');
const key = (/<code class="secret-key">([A-Z2-7 ]+)</.exec(setUp.html)?.[1] ?? '').replaceAll(' ', '');
await owner.submit(setUp, { code: totp(key) }, 'name="code"');
/** The mails with a link for a new password. */
const resets = () => built.links.filter(({ link }) => link.includes('/account/new-password'));
const factors = async () => {
  const { body } = await built.call<{ data: unknown[] }>('GET', `/api/v1/factors?user_id=${ann.id}`);
  return body.data.length;
};

t.test('an admin sees the factors of a user, and never their secrets', async (t) => {
  t.equal(await factors(), 1);
  const page = await admin.get(PAGE);
  t.match(page.html, /Passkeys and authenticator app/);
  t.match(page.html, /Authenticator app<[\s\S]*?>10</, 'with the recovery codes that are left');
  t.notMatch(page.html, key);
  const { browser: editor } = await built.signedIn('editor');
  const seen = await editor.get(PAGE);
  t.equal(seen.status, 200);
  t.notMatch(seen.html, /Passkeys and authenticator app|set-up-link|password-reset/);
  for (const act of ['set-up-link', 'password-reset']) {
    const question = await editor.get(`${PAGE}/${act}`);
    t.equal((await editor.submit(question, {}, `/${act}`)).status, 403, act);
  }
  t.same(resets(), [], 'no mail has gone');
  const own = await admin.get(`/dashboard/users/${built.people.admin.id}`);
  t.match(own.html, /Manage your own on the page/);
  t.notMatch(own.html, /set-up-link|password-reset/);
});

t.test('the page has the name that the list has', async (t) => {
  const draft = { name: 'Nora Quill', email: 'nora@example.org', password: PASSWORD };
  const { status, body } = await built.call<{ id: string }>('POST', '/v1/users', 'admin', draft);
  t.equal(status, 201);
  t.match(textOf(await admin.get('/dashboard/users')), 'Nora Quill');
  t.equal(heading(await admin.get(`/dashboard/users/${body.id}`)), 'Nora Quill');
});

t.test('an admin creates a link, which is shown once', async (t) => {
  const question = await admin.get(`${PAGE}/set-up-link`);
  t.equal(heading(question), 'Create a set-up link for ann?');
  t.match(question.html, /authenticator app with the recovery codes, and all its sessions end/);
  const shown = await admin.submit(question, {}, '/set-up-link');
  const link = codeOf(shown, 'set-up-link') ?? '';
  t.match(link, /\/account\/set-up-sign-in\?token=[\w-]{43}$/);
  t.notMatch((await admin.get(PAGE)).html, /id="set-up-link"/, 'once');
  t.equal(await factors(), 1, 'nothing has changed yet');
  const guest = built.browser();
  t.equal(heading(await guest.get(link)), 'Set up your sign-in again');
});

t.test('an admin has a link for a new password mailed', async (t) => {
  const question = await admin.confirm(await admin.get(PAGE), '/password-reset', { confirmation: '' });
  t.equal(heading(question), 'Send ann a link to choose a new password?');
  t.match(question.html, /mailed to <strong><bdi>ann@example\.org<.*The current password keeps working/s);
  t.same(resets(), [], 'to look at it sends nothing');
  const sent = await admin.submit(question, {}, '/password-reset');
  t.equal(sent.url.pathname, PAGE);
  t.match(sent.html, 'The link is sent.');
  const [{ to, link } = { to: '', link: '' }, ...others] = resets();
  t.same([to, others], ['ann@example.org', []]);
  t.notMatch(sent.html, 'token=', 'the admin does not see it');
  const guest = built.browser();
  const page = await guest.get(link);
  t.equal(heading(page), 'Choose a new password');
  t.equal(heading(await guest.submit(page, { new_password: PASSWORD })), 'Your new password is saved');
});

t.test('somebody who cannot get the mail gets none, and the admin learns why', async (t) => {
  const draft = { username: 'una', email: 'una@example.org', password: PASSWORD };
  const { body } = await built.call<{ id: string }>('POST', '/v2/users', 'admin', draft);
  const page = `/dashboard/users/${body.id}`;
  t.match((await admin.get(page)).html, '/set-up-link');
  const refused = await admin.confirm(await admin.get(page), '/password-reset');
  t.match(refused.html, /The email address of the account is not confirmed\. Create a set-up link/);
  await built.call('PUT', `/v2/users/${body.id}/status`, 'admin', { status: 'inactive' });
  const inactive = await admin.get(page);
  t.notMatch(inactive.html, /password-reset|set-up-link/, 'what cannot be done is not offered');
});

t.test('an admin removes a factor, after a page that names what is lost', async (t) => {
  const page = await admin.get(PAGE);
  const path = new RegExp(`href="(${PAGE}/factors/[^"]+/remove)"`).exec(page.html)?.[1] ?? '';
  const question = await admin.get(path);
  t.equal(heading(question), 'Remove the authenticator app?');
  t.match(question.html, /Its 10 recovery codes stop working as well, and the password alone signs in/);
  t.equal(await factors(), 1, 'to look at it changes nothing');
  const removed = await admin.submit(question, {}, '/remove');
  t.match(removed.html, /It is removed, and the person gets a mail/);
  t.match(removed.html, /has neither a passkey nor an authenticator app/);
  t.equal(await factors(), 0);
  t.equal((await admin.get(path)).status, 404);
});
