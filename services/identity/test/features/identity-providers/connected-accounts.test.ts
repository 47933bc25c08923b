import { createFormBrowser, type FormBrowser, formsOf } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import { MULTI_FACTOR } from '@gatehouse/tokens/acr';
import t from 'tap';
import { authorizeUrl, build, PASSWORD } from '../../build.ts';
import {
  alertOf,
  heading,
  isSignIn,
  linkOf,
  linkTo,
  mailsOf,
  newPerson,
  noticeOf,
  send,
  signedIn,
  UNDO,
} from '../../pages.ts';
import { codeOf, enterCode, withApp } from '../authenticator-app/app.ts';
import { leave, respond, signInBy, startUpstream, verified } from './upstream.ts';

const upstream = await startUpstream(t);
const second = await startUpstream(t, 'second');
const built = await build(t, {
  config: { identityProviders: [...upstream.settings(), ...second.settings()] },
});
for (const it of [upstream, second]) it.start(built.base);
const PAGE = '/account/connected-accounts';

/** Connects who signs in at the provider to the account that is signed in to. */
async function connect(visitor: FormBrowser, sub: string, at = upstream, id = 'acme') {
  at.state.person = verified(sub);
  const url = await leave(visitor, await visitor.get(PAGE), `/${id}/connect"`);
  return { response: await respond(at, url), prompt: new URL(url).searchParams.get('prompt') };
}

t.test('an account is connected, signs its owner in, and is disconnected', async (t) => {
  const id = await built.createPerson('olga');
  const visitor = await signedIn(built, 'olga');
  const { response } = await connect(visitor, 'olga');
  t.match(noticeOf(await visitor.get(response.href)), 'The account is connected');
  t.match(alertOf(await visitor.get(response.href)), /has expired/, 'a response works once');
  const other = built.browser();
  const page = await signInBy(upstream, other, verified('olga'), PAGE);
  t.match(page.html, /olga@elsewhere.example/);
  const gone = await visitor.confirm(await visitor.get(PAGE), '/disconnect');
  t.match(noticeOf(gone), 'The account is disconnected');
  t.ok(isSignIn(await other.get(PAGE)), 'the session that it began ends');
  const { body } = await built.call('GET', `/api/v1/audit?filter[subject]=${id}`, await built.login('admin'));
  const actions = (body.data as { action: string; details?: { provider?: string } }[])
    .filter(({ action }) => action.startsWith('identity.'))
    .map(({ action, details }) => `${action} ${details?.provider}`);
  t.strictSame(actions.sort(), ['identity.linked acme', 'identity.unlinked acme']);
});

t.test(
  'a session that an account at a provider began ends with it, also with a code in between',
  async (t) => {
    const { id, visitor, secret } = await withApp(built, 'piet');
    await visitor.get((await connect(visitor, 'piet')).response.href);
    const [stepped, own] = [built.browser(), built.browser()];
    const apps = (await built.database()).collection<{ _id: string }>('authenticator_apps');
    const app = await apps.findOneAndDelete({ _id: id });
    for (const it of [stepped, own]) await signInBy(upstream, it, verified('piet'), PAGE);
    await signInBy(upstream, own, verified('piet'), `${PAGE}/acme/disconnect`);
    await apps.insertOne(app as never);
    const asked = await stepped.get(authorizeUrl({ acr_values: MULTI_FACTOR }));
    await enterCode(stepped, asked, codeOf(secret));
    t.notOk(isSignIn(await stepped.get(PAGE)));
    await apps.deleteOne({ _id: id });
    const gone = await own.confirm(await own.get(PAGE), '/disconnect');
    t.match(noticeOf(gone), 'disconnected', 'the session in which it is done goes on');
    t.ok(isSignIn(await stepped.get(PAGE)));
  },
);

t.test('people choose which of their accounts at the provider they connect', async (t) => {
  const visitor = await newPerson(built, 'ulla');
  const chosen = await connect(visitor, 'ulla', second, 'second');
  t.equal(chosen.prompt, 'select_account', 'of a provider that has a choice');
  t.match(noticeOf(await visitor.get(chosen.response.href)), 'connected');
  t.equal((await connect(visitor, 'ulla')).prompt, 'login', 'of one that would refuse it');
});

t.test('the owner is told by mail, and whoever restores an earlier address disconnects it', async (t) => {
  const email = 'tess@example.org';
  const visitor = await newPerson(built, 'tess');
  await visitor.submit(await visitor.get(await linkTo(built, email)), {});
  const isMailed = (what: RegExp) =>
    until(async () => (await mailsOf(built)).some((it) => what.test(it)), 3000);
  const { response } = await connect(visitor, 'thief');
  await visitor.get(response.href);
  await isMailed(/Acme was connected to your account/);
  const change = { email: 'thief@example.org', current_password: PASSWORD };
  await visitor.submit(await visitor.get('/account'), change, 'name="username"');
  // While no provider is configured: it can come back.
  const owner = createFormBrowser(await built.replica({ identityProviders: [] }));
  const { pathname, search } = new URL(await linkTo(built, email));
  const undone = await owner.submit(await owner.get(pathname + search), {});
  t.equal(heading(undone), 'Check your mail');
  const links = (await built.database()).collection('linked_identities');
  t.equal(await links.countDocuments({ subject: 'thief' }), 0);
});

t.test('the link in the mail disconnects what was connected, and connects again what was not', async (t) => {
  const email = 'uma@example.org';
  const visitor = await newPerson(built, 'uma');
  await visitor.submit(await visitor.get(await linkTo(built, email)), {});
  const { response } = await connect(visitor, 'uma');
  await visitor.get(response.href);
  const linked = await linkTo(built, email, (link) => UNDO.test(link));
  const links = (await built.database()).collection('linked_identities');
  await links.updateMany({ subject: 'uma' }, { $set: { created_at: new Date(Date.now() - 4 * 86_400_000) } });
  const question = await visitor.get(`${PAGE}/acme/disconnect`);
  await visitor.submit(question, { confirmation: 'yes' }, '/disconnect');
  t.equal(await links.countDocuments({ subject: 'uma' }), 0);
  const unlinked = await linkTo(built, email, (link) => UNDO.test(link));
  const owner = built.browser();
  await owner.submit(await owner.get(unlinked), {});
  t.equal(await links.countDocuments({ subject: 'uma' }), 1);
  await links.updateMany({ subject: 'uma' }, { $set: { created_at: new Date() } });
  await owner.submit(await owner.get(linked), {});
  t.equal(await links.countDocuments({ subject: 'uma' }), 0);
});

t.test(
  'a response is connected in the session that asked for it only, and an identity to one account',
  async (t) => {
    await built.createPerson('paul');
    const visitor = await signedIn(built, 'paul');
    const { response } = await connect(visitor, 'paul');
    const mallory = await signedIn(built, 'ann');
    t.match(alertOf(await mallory.get(response.href)), /has expired/, 'in the browser of somebody else');
    t.match(noticeOf(await visitor.get(response.href)), 'connected');
    const again = await connect(mallory, 'paul');
    t.match(alertOf(await mallory.get(again.response.href)), /was not connected/);
  },
);

t.test('the last way to sign in stays, and changes need a fresh sign-in', async (t) => {
  const visitor = built.browser();
  const page = await signInBy(upstream, visitor, verified('quinn'), PAGE);
  t.match(page.html, /Nothing else signs you in/);
  t.notMatch(page.html, /\/disconnect"/);
  await signInBy(upstream, visitor, verified('quinn'), `${PAGE}/acme/disconnect`);
  const question = await visitor.get(`${PAGE}/acme/disconnect`);
  t.equal((await visitor.submit(question, {}, 'name="confirmation"')).status, 409);

  await built.createPerson('rita');
  const idle = await signedIn(built, 'rita');
  const list = await idle.get(PAGE);
  const sessions = (await built.database()).collection('oidc_sessions');
  const [session] = await sessions.find({}).sort({ expires_at: -1 }).limit(1).toArray();
  const payload = JSON.parse(String(session?.payload));
  payload.loginTs = Math.floor(Date.now() / 1000) - 301;
  await sessions.updateOne({ _id: session?._id as never }, { $set: { payload: JSON.stringify(payload) } });
  const refused = await idle.submit(list, {}, '/connect"');
  t.match(refused.url.pathname, /^\/sign-in\//);
});

t.test(
  'only an account at the issuer of today is a way to sign in, and another one takes its place',
  async (t) => {
    const visitor = built.browser();
    await signInBy(upstream, visitor, verified('viola'), PAGE);
    await signInBy(upstream, visitor, verified('viola'), `${PAGE}/acme/disconnect`);
    const { response } = await connect(visitor, 'viola', second, 'second');
    const both = await visitor.get(response.href);
    t.match(both.html, /\/acme\/disconnect"/);
    const moved = await startUpstream(t, 'second');
    moved.start(built.base);
    const base = await built.replica({ identityProviders: [...upstream.settings(), ...moved.settings()] });
    const at = (method: string, path: string, fields?: Record<string, string>) =>
      send({ ...built, base }, method, path, { browser: visitor, ...(fields && { fields }) });
    const page = await at('GET', PAGE);
    t.match(page.html, /Nothing else signs you in/);
    t.match(page.html, /<h2>second<\/h2>\s*<p>Not connected/);
    const form = formsOf(page.html).find(({ action }) => action.includes('second'));
    moved.state.person = verified('viola');
    const away = await at('POST', String(form?.action), form?.fields);
    const back = await respond(moved, linkOf({ ...both, html: away.html }, 'Continue to'));
    const done = await at('GET', `${PAGE}/second/connect${back.search}`);
    t.match(done.headers.get('location'), /done=connected/, done.html);
    const links = (await built.database()).collection('linked_identities');
    const issuers = (await links.find({ subject: 'viola', provider: 'second' }).toArray()).map(
      (it) => it.issuer,
    );
    t.strictSame(issuers, [moved.issuer]);
  },
);
