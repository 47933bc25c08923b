import { randomBytes } from 'node:crypto';
import t from 'tap';
import { createAuthorizationStates } from '../../../src/features/identity-providers/authorization-state.ts';
import { authorizeUrl, build, signInAndAllow } from '../../build.ts';
import { alertOf, heading, noticeOf, send, signedIn } from '../../pages.ts';
import { leave, respond, startUpstream, verified } from './upstream.ts';

// Where the response of a provider is taken: in the browser, and for the sign-in or the session, that asked for it, once.

const upstream = await startUpstream(t);
const built = await build(t, { config: { identityProviders: upstream.settings() } });
upstream.start(built.base);
const PAGE = '/account/connected-accounts';

function statesOf({ key = randomBytes(32), seconds = 60 } = {}) {
  const used = new Set<string>();
  const useOnce = async (name: string) => !used.has(name) && used.add(name) === used;
  return createAuthorizationStates({ keys: [key], seconds, useOnce });
}

t.test('a state is for one purpose, once, until it expires', async (t) => {
  const states = statesOf();
  const purpose = { provider: 'acme', context: 'sign in 1', browser: 'b1' };
  const more = { returnTo: '/sign-in/1/methods/acme', isFresh: true };
  const { state, checks } = states.issue(purpose, more);
  const others = [
    { provider: 'other' },
    { context: 'connect 1' },
    { context: 'sign in 2' },
    { browser: 'b2' },
  ];
  for (const other of others) {
    t.equal(await states.use(state, { ...purpose, ...other }), undefined, JSON.stringify(other));
  }
  t.equal(await statesOf().use(state, purpose), undefined, 'by another key');
  t.strictSame(await states.use(state, purpose), checks, 'none of these has used it up');
  t.equal(await states.use(state, purpose), undefined, 'again');
  const late = statesOf({ seconds: 0 });
  t.equal(await late.use(late.issue(purpose, more).state, purpose), undefined, 'too late');
  t.equal(late.returnTo('x', 'acme'), undefined);
});

/** The response to a request that a form of this page makes. */
async function ask(visitor: Awaited<ReturnType<typeof signedIn>>, path: string, which?: string) {
  return respond(upstream, await leave(visitor, await visitor.get(path), which));
}

t.test('the response to a sign-in connects nothing, and that to a connection signs nobody in', async (t) => {
  upstream.state.person = verified('nina');
  await built.createPerson('nina');
  const visitor = await signedIn(built, 'nina');
  const connection = await ask(visitor, PAGE, '/connect"');
  const page = await visitor.get(authorizeUrl({ prompt: 'login' }));
  const signIn = await respond(upstream, await leave(visitor, page));
  const connected = await visitor.get(`${PAGE}/acme/connect${signIn.search}`);
  t.match([connected.status, alertOf(connected)], [400, /has expired/], 'of the sign-in');
  const refused = await visitor.get(`${page.url.pathname}/methods/acme${connection.search}`);
  t.match([refused.status, alertOf(refused)], [401, /has expired/], 'of the connection');
  t.match(noticeOf(await visitor.get(connection.href)), 'connected', 'each where it belongs');
});

t.test('a response comes too late for another session in the same browser, or in another', async (t) => {
  upstream.state.person = verified('omar');
  await built.createPerson('omar');
  const visitor = await signedIn(built, 'omar');
  const response = await ask(visitor, PAGE, '/connect"');
  const elsewhere = await (await signedIn(built, 'omar')).get(response.href);
  t.match(alertOf(elsewhere), /has expired/, 'of the same person in another browser');
  await signInAndAllow(visitor, authorizeUrl({ prompt: 'login' }), 'ann');
  t.match(alertOf(await visitor.get(response.href)), /has expired/, 'of somebody else in this browser');
  await signInAndAllow(visitor, authorizeUrl({ prompt: 'login' }), 'omar');
  t.match(alertOf(await visitor.get(response.href)), /has expired/, 'of the same person, begun later');
});

t.test('every replica takes the response to a request of another, and one of them takes it', async (t) => {
  const bases = [built.base, await built.replica()];
  const visitor = built.browser();
  upstream.state.person = verified('remy');
  const { pathname, search } = await ask(visitor, '/account');
  const get = (base = '', path = '') => send({ ...built, base }, 'GET', path, { browser: visitor });
  const passedOn = await get(bases[1], pathname + search);
  const path = String(passedOn.headers.get('location'));
  const replies = await Promise.all(bases.flatMap((base) => [get(base, path), get(base, path)]));
  t.strictSame(replies.map(({ status }) => status).sort(), [303, 401, 401, 401]);
  const next = replies.find(({ status }) => status === 303)?.headers.get('location');
  t.equal(heading(await visitor.get(String(next))), 'Profile');
});
