import { createHash } from 'node:crypto';
import http from 'node:http';
import { listen } from '@gatehouse/testing/listen';
import t from 'tap';
import { authorizeUrl, build, WEB } from '../../build.ts';
import { alertOf, createAccount, heading, isSignIn, linkOf, responseOf } from '../../pages.ts';
import { codeOf, enterCode, enterPassword, setUpApp } from '../authenticator-app/app.ts';

/** A range service of these passwords, and how often it was asked. */
const breached = new Set<string>();
const service = { requests: 0, isDown: false };
const port = await listen(
  t,
  http.createServer(({ url = '' }, response) => {
    service.requests += 1;
    const hashes = [...breached].map((it) => createHash('sha1').update(it).digest('hex').toUpperCase());
    const found = hashes.filter((it) => url === `/${it.slice(0, 5)}`).map((it) => `${it.slice(5)}:1`);
    response.writeHead(service.isDown ? 500 : 200).end(found.join('\r\n'));
  }),
);
const built = await build(t, { config: { breachedPasswordsUrl: `http://127.0.0.1:${port}` } });
const PROMPT = 'Change your password';
const SECOND = 'a second horse battery';

/** Somebody whose password gets into a breach after they have chosen it. */
async function withBreached(username: string, password = `${username} horse battery`) {
  const visitor = built.browser();
  await createAccount(visitor, '/account', { username, email: `${username}@example.org`, password });
  return { visitor, password, breach: () => breached.add(password) };
}

t.test('a person changes a breached password at the sign-in, and goes on', async (t) => {
  const { password, breach } = await withBreached('changing');
  breach();
  const visitor = built.browser();
  const prompt = await enterPassword(visitor, 'changing', authorizeUrl(), password);
  t.equal(heading(prompt), PROMPT);
  t.ok(isSignIn(await visitor.get('/account')), 'nobody is signed in yet');
  const wrong = await visitor.submit(prompt, { current_password: 'a wrong one', new_password: SECOND });
  t.match(alertOf(wrong), /current password is not right/);
  const again = await visitor.submit(wrong, { current_password: password, new_password: password });
  t.match(alertOf(again), /The new password is known from a data breach/);
  const consent = await visitor.submit(again, { current_password: password, new_password: SECOND });
  t.match(heading(consent), /Allow/);
  const end = responseOf(await visitor.submit(consent, { decision: 'allow' }));
  t.match(end, { at: WEB.redirect_uri, code: /./ });
  t.equal((await built.logIn('changing', password)).status, 401);
  t.equal((await built.logIn('changing', SECOND)).status, 200);
  t.equal(heading(await visitor.get('/account')), 'Profile', 'the session is of the new password');
  const entries = await (await built.database()).collection('audit_log').find().toArray();
  t.equal(entries.filter(({ action }) => action === 'password.changed').length, 1);
});

t.test('the prompt can wait until the next session, and never stops the API', async (t) => {
  const { password, breach } = await withBreached('waiting');
  breach();
  const visitor = built.browser();
  const prompt = await enterPassword(visitor, 'waiting', '/account', password);
  t.equal(heading(await visitor.get(linkOf(prompt, 'Not now'))), 'Profile');
  const fresh = await enterPassword(visitor, 'waiting', authorizeUrl({ prompt: 'login' }), password);
  t.match(heading(fresh), /Allow/, 'once a session');
  const before = service.requests;
  t.equal((await built.logIn('waiting', password)).status, 200);
  t.equal(service.requests, before);
  const other = built.browser();
  t.equal(heading(await enterPassword(other, 'waiting', '/account', password)), PROMPT);
  service.isDown = true;
  t.equal(heading(await enterPassword(built.browser(), 'waiting', '/account', password)), 'Profile');
  service.isDown = false;
});

t.test('the prompt comes after the second factor', async (t) => {
  const { visitor, password, breach } = await withBreached('two-factors');
  const { secret } = await setUpApp(visitor);
  breach();
  const other = built.browser();
  const code = await enterPassword(other, 'two-factors', '/account', password);
  t.equal(heading(code), 'Enter a code');
  const uid = code.url.pathname.split('/')[2];
  t.equal((await other.get(`/sign-in/${uid}/after/breached-password`)).status, 400, 'not before it');
  const prompt = await enterCode(other, code, codeOf(secret, 1));
  t.equal(heading(prompt), PROMPT);
  const done = await other.submit(prompt, { current_password: password, new_password: SECOND });
  t.equal(heading(done), 'Profile');
});

t.test('the step is for the browser that has signed in, until that sign-in ends', async (t) => {
  const { password, breach } = await withBreached('ending');
  breach();
  const visitor = built.browser();
  const prompt = await enterPassword(visitor, 'ending', '/account', password);
  const stranger = built.browser();
  t.equal((await stranger.get(prompt.url.pathname)).status, 400);
  const admin = await built.login('admin');
  const { body } = await built.call('GET', '/v1/users?username=ending', admin);
  const id = String((body as { data?: { id: string }[] }).data?.[0]?.id);
  t.equal((await built.call('DELETE', `/api/v1/sessions?user_id=${id}`, admin)).status, 204);
  const late = await visitor.submit(prompt, { current_password: password, new_password: SECOND });
  t.equal(late.status, 400);
  t.equal((await built.logIn('ending', password)).status, 200, 'unchanged');
});
