import type { FormBrowser } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build, PASSWORD } from '../../../build.ts';
import { heading, linkTo, mailsOf, newPerson, signedIn, UNDO } from '../../../pages.ts';

const built = await build(t);
const { browser, call, links } = built;
const counters = (await built.database()).collection('sign_in_counters');
const RESTORE = /\/account\/undo-email-change/;
const NEXT = 'the owner has a new one';

const ok = async (method: string, path: string, token: string, body?: object) => {
  const response = await call(method, path, token, body);
  if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status}`);
  return response.body;
};
const asked = (link: string) => !UNDO.test(link) && !RESTORE.test(link);

async function confirm(visitor: FormBrowser, email: string) {
  await visitor.submit(await visitor.get('/account'), {}, 'id="send-link-again"');
  const page = await visitor.submit(await visitor.get(await linkTo(built, email, asked)), {});
  if (heading(page) !== 'Your email address is confirmed') throw new Error(page.html);
}

/** An account of which a thief with the password has changed the address, and the link that the owner got. */
async function steal(username: string) {
  const owner = `${username}@example.org`;
  const thief = `${username}-thief@example.org`;
  const visitor = await newPerson(built, username);
  await visitor.submit(await visitor.get(await linkTo(built, owner)), {});
  const id = String((await built.logIn(username)).body.user_id);
  const login = (password = PASSWORD) => built.login(username, password);
  const setEmail = async (email: string, password = PASSWORD) =>
    ok('PUT', `/v1/users/${id}`, await login(password), { email, current_password: password });
  await setEmail(thief);
  const link = await linkTo(built, owner, (it) => RESTORE.test(it));
  const session = await signedIn(built, username);
  await confirm(session, thief);
  return { username, id, owner, thief, link, session, login, setEmail, root: await built.login('admin') };
}
type Stolen = Awaited<ReturnType<typeof steal>>;

const setByAdmin = ({ id, root, owner }: Stolen) => ok('PUT', `/v1/users/${id}`, root, { email: owner });
const setPassword = ({ id, root }: Stolen) =>
  ok('PUT', `/v1/users/${id}/password`, root, { new_password: NEXT });
const revoke = ({ id }: Stolen, token: string) => ok('POST', `/api/v1/users/${id}/revocations`, token, {});
const setStatus = ({ id, root }: Stolen, status: string) =>
  ok('PUT', `/v1/users/${id}/status`, root, { status });
async function setUp({ id, root }: Stolen) {
  const { url } = await ok('POST', '/api/v1/factors/set-up-links', root, { user_id: id });
  const visitor = browser();
  await visitor.submit(await visitor.get(String(url)), { new_password: NEXT });
}
async function recover(username: string, email: string, new_password: string) {
  const visitor = browser();
  await visitor.submit(await visitor.get('/account/forgotten-password'), { login: username });
  await visitor.submit(await visitor.get(await linkTo(built, email, asked)), { new_password });
}

/** What happens to a stolen account, and whether the link in the mail to the owner works then. That to the thief never does. */
const WAYS: Record<string, { happen(it: Stolen): Promise<unknown>; ownerRestores: boolean }> = {
  nothing: { happen: async () => undefined, ownerRestores: true },
  'the thief changes the password': {
    happen: async ({ id, login }) =>
      ok('PUT', `/v1/users/${id}/password`, await login(), {
        current_password: PASSWORD,
        new_password: NEXT,
      }),
    ownerRestores: true,
  },
  'the thief revokes all access': {
    happen: async (it) => revoke(it, await it.login()),
    ownerRestores: true,
  },
  'the thief uses a link for a new password': {
    happen: ({ username, thief }) => recover(username, thief, NEXT),
    ownerRestores: true,
  },
  'the thief takes a further address': {
    async happen({ setEmail, session, thief }) {
      await setEmail(`next-${thief}`);
      await confirm(session, `next-${thief}`);
    },
    ownerRestores: true,
  },
  'the owner sets the address back and chooses a new password': {
    async happen({ setEmail, owner, id, login, username }) {
      await setEmail(owner);
      const body = { current_password: PASSWORD, new_password: NEXT };
      await ok('PUT', `/v1/users/${id}/password`, await login(), body);
      await confirm(await signedIn(built, username, NEXT), owner);
    },
    ownerRestores: true,
  },
  'an admin sets the address and a password': {
    async happen(it) {
      await setByAdmin(it);
      await setPassword(it);
    },
    ownerRestores: true,
  },
  'an admin sets the address, and the owner uses a link for a new password': {
    async happen(it) {
      await setByAdmin(it);
      await setPassword(it);
      await confirm(await signedIn(built, it.username, NEXT), it.owner);
      await recover(it.username, it.owner, 'and another new one');
    },
    ownerRestores: true,
  },
  'an admin revokes all access': { happen: (it) => revoke(it, it.root), ownerRestores: false },
  'an admin sets a password': { happen: setPassword, ownerRestores: false },
  'an admin deactivates and activates the account': {
    async happen(it) {
      await setStatus(it, 'inactive');
      await setStatus(it, 'active');
    },
    ownerRestores: false,
  },
  'a set-up link, after which the owner sets the address back': {
    async happen(it) {
      await setUp(it);
      await it.setEmail(it.owner, NEXT);
      await confirm(await signedIn(built, it.username, NEXT), it.owner);
    },
    ownerRestores: false,
  },
};

/** The mails that an address got about its replacement. */
const changedMails = async (to: string) =>
  (await mailsOf(built)).filter((it) => it.startsWith(`To: ${to}\n`) && /address has been changed/.test(it));

for (const [i, [name, { happen, ownerRestores }]] of Object.entries(WAYS).entries()) {
  t.test(`an account whose address a thief has changed: ${name}`, async (t) => {
    const it = await steal(`stolen${i}`);
    await happen(it);
    const email = async () => (await ok('GET', `/v1/users/${it.id}`, await built.login('admin'))).email;
    const before = await email();
    const visitor = browser();
    const page = await visitor.get(it.link);
    t.equal(page.status, ownerRestores ? 200 : 400, 'the link of the owner');
    if (ownerRestores) {
      t.equal(heading(await visitor.submit(page, {})), 'Check your mail');
      t.equal(await email(), it.owner);
    }
    const isReplaced = ownerRestores || before === it.owner;
    if (isReplaced) await until(async () => (await changedMails(it.thief)).length > 0, 5000);
    t.equal((await changedMails(it.thief)).length, isReplaced ? 1 : 0, 'the replaced address learns of it');
    t.notOk(
      links.some(({ to, link }) => to.includes(it.thief) && RESTORE.test(link)),
      'and no link gives it back to the thief',
    );
    await counters.deleteMany({});
  });
}

t.test('a link that has ended since its page was opened does nothing', async (t) => {
  const it = await steal('opened');
  const visitor = browser();
  const page = await visitor.get(it.link);
  await revoke(it, it.root);
  const done = await visitor.submit(page, {});
  t.match([done.status, heading(done)], [400, 'This link no longer works']);
  t.match(await ok('GET', `/v1/users/${it.id}`, it.root), { email: it.thief });
});
