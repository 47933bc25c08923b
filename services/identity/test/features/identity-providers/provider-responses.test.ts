import { createServer } from 'node:http';
import { listen } from '@gatehouse/testing/listen';
import { decodeJwt } from 'jose';
import t from 'tap';
import { build } from '../../build.ts';
import { alertOf, heading, isSignIn, send } from '../../pages.ts';
import { leave, respond, signInBy, startUpstream, verified } from './upstream.ts';

// What a stranger, or a provider that is not the one that was asked, can send back.

const upstream = await startUpstream(t);
const second = await startUpstream(t, 'second');
const built = await build(t, {
  config: { identityProviders: [...upstream.settings(), ...second.settings()] },
});
for (const it of [upstream, second]) it.start(built.base);
const links = async () => (await built.database()).collection('linked_identities');

/** Somebody who has come as far as the response of the provider, which is returned. */
async function begin(sub: string) {
  const visitor = built.browser();
  upstream.state.person = verified(sub);
  const sent = await leave(visitor, await visitor.get('/account'));
  return { visitor, sent, response: await respond(upstream, sent) };
}

function changed(url: URL, parameters: Record<string, string | undefined>, path = url.pathname): string {
  const copy = new URL(path + url.search, url);
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) copy.searchParams.delete(name);
    else copy.searchParams.set(name, value);
  }
  return copy.href;
}

t.test('the request has PKCE, a nonce, and a state that says nothing', async (t) => {
  const { sent, response, visitor } = await begin('honest');
  const query = new URL(sent).searchParams;
  t.match(query.get('code_challenge'), /^[\w-]{43}$/);
  t.equal(query.get('code_challenge_method'), 'S256');
  t.match(query.get('nonce'), /^[\w-]{43}$/);
  t.match(query.get('state'), /^[\w-]{200,}$/);
  t.equal(query.get('redirect_uri'), `${built.base}/sign-in/providers/acme/callback`);
  t.match(response.searchParams.get('iss'), upstream.issuer, 'RFC 9207');
  t.equal(heading(await visitor.get(response.href)), 'Profile');
});

t.test('a response that is not the provider’s to this request signs nobody in', async (t) => {
  const other = await begin('mallory');
  const cases: Record<string, (response: URL) => string> = {
    'the issuer of another provider': (url) => changed(url, { iss: second.issuer }),
    'no issuer, of a provider that says it': (url) => changed(url, { iss: undefined }),
    'the code of another person’s sign-in': (url) =>
      changed(url, { code: other.response.searchParams.get('code') ?? '' }),
    'no code': (url) => changed(url, { code: undefined }),
    'a code that nobody has': (url) => changed(url, { code: 'x' }),
    'an error': (url) => changed(url, { code: undefined, error: 'invalid_scope' }),
  };
  for (const [name, change] of Object.entries(cases)) {
    const { visitor, response } = await begin('victim');
    const page = await visitor.get(change(response));
    t.match([page.status, alertOf(page)], [401, /The sign-in with Acme did not work/], name);
  }
  t.equal(await (await links()).countDocuments({ subject: { $in: ['victim', 'mallory'] } }), 0);
});

t.test('a response of another sign-in, browser or provider does not arrive', async (t) => {
  const { visitor, response } = await begin('victim');
  const { state = '' } = Object.fromEntries(response.searchParams);
  const expired = 'This sign-in has expired';
  const cases: Record<string, string> = {
    'at the address of another provider': changed(response, {}, '/sign-in/providers/second/callback'),
    'with no state': changed(response, { state: undefined }),
    'with a state of its own': changed(response, { state: 'x'.repeat(240) }),
    'with a state that is altered': changed(response, { state: `${state.slice(0, -2)}AA` }),
  };
  for (const [name, url] of Object.entries(cases)) {
    const page = await visitor.get(url);
    t.match([page.status, heading(page)], [400, expired], name);
  }
  t.match(heading(await built.browser().get(response.href)), expired, 'in a browser without a sign-in');
  t.equal((await visitor.get(changed(response, {}, '/sign-in/providers/none/callback'))).status, 404);
  const twice = `${response.href}&state=${state}`;
  t.equal((await visitor.get(twice)).status, 400, 'with a parameter twice');

  // Login CSRF: the response of the attacker's sign-in, in the browser of somebody else who is signing in.
  const attacker = await begin('mallory');
  const [, uid = ''] = /\/sign-in\/([\w-]+)/.exec((await visitor.get('/account')).url.pathname) ?? [];
  const planted = await visitor.get(changed(attacker.response, {}, `/sign-in/${uid}/methods/acme`));
  t.match([planted.status, alertOf(planted)], [401, /has expired.*another browser/s]);
  t.match(heading(await visitor.get(attacker.response.href)), expired);

  t.equal(
    heading(await visitor.get((await respond(upstream, await leave(visitor, planted))).href)),
    'Profile',
  );
});

t.test('a response that the provider posts, to which a browser adds no cookies, signs in', async (t) => {
  const { visitor, response } = await begin('poster');
  const fields = Object.fromEntries(response.searchParams);
  const posted = await send(built, 'POST', response.pathname, { fields });
  t.equal(posted.status, 303);
  t.equal(heading(await visitor.get(String(posted.headers.get('location')))), 'Profile');
  const stray = await send(built, 'POST', response.pathname, { fields: { ...fields, state: 'x' } });
  t.equal(stray.status, 400);
});

t.test('a response works once', async (t) => {
  const { visitor, response } = await begin('once');
  const passedOn = await send(built, 'GET', response.pathname + response.search, { browser: visitor });
  const page = await visitor.get(response.href);
  t.equal(heading(page), 'Profile');
  t.match(heading(await visitor.get(response.href)), 'This sign-in has expired', 'the sign-in is over');
  // Refused in the same sign-in, and again with what was sent before.
  const { visitor: careful, response: first } = await begin('careful');
  const spoilt = await careful.get(changed(first, { iss: second.issuer }));
  t.equal(spoilt.status, 401);
  t.match(alertOf(await careful.get(first.href)), /has expired.*used before/s);
  t.equal(passedOn.status, 303);
});

t.test('an ID token that the provider has not signed for this request is refused', async (t) => {
  const forged: Record<string, (token: string) => string> = {
    'a signature that is spoilt': (token) => `${token.slice(0, -8)}AAAAAAAA`,
    'no signature': (token) => {
      const head = Buffer.from('{"alg":"none"}').toString('base64url');
      return `${head}.${token.split('.')[1]}.`;
    },
    'another subject': (token) => {
      const [head, , signature] = token.split('.');
      const claims = { ...decodeJwt(token), sub: 'grace' };
      return `${head}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${signature}`;
    },
  };
  const token = { ...verified('forger') };
  for (const [name, forge] of Object.entries(forged)) {
    upstream.state.forge = forge;
    const page = await signInBy(upstream, built.browser(), token);
    t.match([page.status, alertOf(page)], [401, /did not work/], name);
  }
  // With the provider's own signature.
  const isSignedIn = async (claims: object) => {
    upstream.state.forge = (idToken) => upstream.sign({ ...decodeJwt(idToken), ...claims });
    return heading(await signInBy(upstream, built.browser(), token)) === 'Profile';
  };
  const past = Math.floor(Date.now() / 1000) - 60;
  // Complete, so that nothing else is asked of the provider.
  const nobody = { ...verified('nobody'), sub: '', name: 'Nobody', picture: 'https://elsewhere.example/p' };
  for (const claims of [
    { iss: second.issuer },
    { aud: 'somebody-else' },
    { nonce: 'x' },
    { exp: past },
    nobody,
  ]) {
    t.notOk(await isSignedIn(claims), Object.keys(claims).join());
  }
  t.ok(await isSignedIn({}), 'as it was');
  upstream.state.forge = undefined;
});

t.test('whoever cancels at the provider is back on the sign-in page', async (t) => {
  upstream.state.isCancelled = true;
  const page = await signInBy(upstream, built.browser(), verified('shy'));
  t.ok(isSignIn(page));
  t.match(alertOf(page), /You did not sign in with Acme/);
  upstream.state.isCancelled = false;
});

t.test('a provider that replaces its keys goes on signing people in', async (t) => {
  t.equal(heading(await signInBy(upstream, built.browser(), verified('turner'))), 'Profile');
  upstream.start(built.base);
  t.equal(heading(await signInBy(upstream, built.browser(), verified('turner'))), 'Profile');
});

t.test('a provider that is down hurts nobody else', async (t) => {
  const slow = createServer(() => {});
  const port = await listen(t, slow);
  const [entry] = upstream.settings();
  const away = { ...entry, id: 'away', label: 'Away', issuer: `http://127.0.0.1:${port}` } as never;
  const mixed = await build(t, { config: { identityProviders: [...upstream.settings(), away] } });
  upstream.start(mixed.base);
  const visitor = mixed.browser();
  const page = await visitor.get('/account');
  const waiting = visitor.submit(page, {}, 'methods/away"');
  t.equal(heading(await signInBy(upstream, mixed.browser(), verified('quick'))), 'Profile');
  t.match(alertOf(await waiting), /Away is not responding/);
  upstream.state.isDown = true;
  const other = mixed.browser();
  const sent = await leave(other, await other.get('/account'));
  t.ok(sent, 'its metadata is known');
  upstream.state.isDown = false;
  const { href } = await respond(upstream, sent);
  upstream.state.isDown = true;
  const failed = await other.get(href);
  t.match([failed.status, alertOf(failed)], [401, /Acme is not responding/]);
  upstream.state.isDown = false;
  t.equal(heading(await other.get((await respond(upstream, await leave(other, failed))).href)), 'Profile');
});

t.test('failed responses of one address are limited', async (t) => {
  const flooded = await build(t, { config: { identityProviders: upstream.settings(), rateLimit: 'on' } });
  const visitor = flooded.browser();
  const [, uid = ''] = /\/sign-in\/([\w-]+)/.exec((await visitor.get('/account')).url.pathname) ?? [];
  const statuses: number[] = [];
  for (let i = 0; i < 62; i += 1) {
    statuses.push((await visitor.get(`/sign-in/${uid}/methods/acme?state=x`)).status);
  }
  t.strictSame([...new Set(statuses.slice(0, 60))], [401]);
  t.strictSame(statuses.slice(60), [429, 429]);
});
