import { randomUUID } from 'node:crypto';
import { until } from '@gatehouse/testing/processes';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import { decodeJwt, type JWTPayload, SignJWT } from 'jose';
import t from 'tap';
import { build, NATIVE, PASSWORD } from '../../build.ts';
import { createAccount, heading, isSignIn, linkTo, send } from '../../pages.ts';
import { refresh, tokensFor } from '../../tokens.ts';
import { leave, respond, signInBy, startUpstream, verified } from './upstream.ts';

// OpenID Connect Back-Channel Logout 1.0 as the relying party, and Shared Signals 1.0 as the receiver.

const upstream = await startUpstream(t);
const second = await startUpstream(t, 'second');
const built = await build(t, {
  config: { identityProviders: [...upstream.settings(), ...second.settings()] },
});
for (const it of [upstream, second]) it.start(built.base);
const bases = [built.base, await built.replica()] as const;
const PATH = '/sign-in/providers/acme/backchannel-logout';

let sid = '';
upstream.state.forge = (idToken) => {
  sid = String(decodeJwt(idToken).sid);
  return idToken;
};

/** A session here by one of their own there. */
async function session(sub: string) {
  const visitor = built.browser();
  const page = await signInBy(upstream, visitor, verified(sub));
  return { visitor, sid, page, isOpen: async () => !isSignIn(await visitor.get('/account')) };
}

const claimsOf = (of: { sub?: string; sid?: string }): JWTPayload => {
  const now = Math.floor(Date.now() / 1000);
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  return {
    iss: upstream.issuer,
    aud: 'gatehouse',
    iat: now,
    exp: now + 120,
    jti: randomUUID(),
    events,
    ...of,
  };
};
async function notify(token: string, base: string = built.base, path = PATH) {
  const { status } = await send({ ...built, base }, 'POST', path, { fields: { logout_token: token } });
  return status;
}

t.test(
  'a sign-out at the provider ends the session that began in that one there, and no other',
  async (t) => {
    const email = 'cora@elsewhere.example';
    const owner = built.browser();
    await createAccount(owner, '/account', { username: 'cora', email });
    await owner.submit(await owner.get(await linkTo(built, email)), {});
    const asked = await session('cora');
    await asked.visitor.submit(asked.page, { username: 'cora', password: PASSWORD });
    const [first, other] = [await session('cora'), await session('cora')];
    t.not(first.sid, other.sid);
    const left = await session('cora');
    const native = { browser: left.visitor, client: NATIVE, more: { scope: 'openid offline_access' } };
    const { refresh_token } = await tokensFor(built, native);
    await left.visitor.submit(await left.visitor.get('/account'), {}, '/account/sign-out');
    const kept = await refresh(built, refresh_token, NATIVE);
    t.equal(kept.status, 200, 'a sign-out here leaves it');
    await upstream.signOut('cora', first.sid);
    t.strictSame([await first.isOpen(), await other.isOpen()], [false, true]);
    t.equal(await notify(await upstream.sign(claimsOf({ sub: 'cora' }))), 200);
    t.strictSame([await other.isOpen(), await asked.isOpen()], [false, true], 'all, but those by password');
    const { status } = await refresh(built, String(kept.body.refresh_token), NATIVE);
    t.equal(status, 400, 'also what a sign-out here has left');
    const admin = await built.login('admin');
    const ended = async () => built.call('GET', '/api/v1/audit?filter[action]=session.ended', admin);
    // The audit log is written in batches.
    await until(async () => JSON.stringify((await ended()).body.data).includes('"provider":"acme"'), 3000);
  },
);

t.test('the session is known by its id alone, too', async (t) => {
  const [first, other] = [await session('dan'), await session('dan')];
  t.equal(await notify(await upstream.sign(claimsOf({ sid: first.sid }))), 200);
  t.strictSame([await first.isOpen(), await other.isOpen()], [false, true]);
  t.equal(await notify(await upstream.sign(claimsOf({ sid: 'unknown' }))), 200, 'nothing to do');
});

t.test('what is no logout token of the provider, for us and of now, ends nothing', async (t) => {
  const { isOpen } = await session('eve');
  const right = claimsOf({ sub: 'eve' });
  const now = Math.floor(Date.now() / 1000);
  const { exp: _, ...noExpiry } = right;
  const { jti: __, ...noId } = right;
  const { sub: ___, ...nobody } = right;
  const cases: Record<string, JWTPayload> = {
    'another issuer': { ...right, iss: second.issuer },
    'another audience': { ...right, aud: 'somebody' },
    'an old one': { ...right, iat: now - 3600 },
    'an expired one': { ...right, exp: now - 60 },
    'no expiry': noExpiry,
    'no id': noId,
    nobody,
    'another event': { ...right, events: { 'http://schemas.openid.net/event/other': {} } },
    'an event that is no object': {
      ...right,
      events: { [Object.keys(right.events as object)[0] ?? '']: true },
    },
    'no event, as in an ID token': { ...right, events: undefined },
    'a nonce': { ...right, nonce: 'n' },
  };
  for (const [name, claims] of Object.entries(cases)) {
    t.equal(await notify(await upstream.sign(claims)), 400, name);
  }
  const payload = Buffer.from(JSON.stringify(right)).toString('base64url');
  const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
  const secret = new TextEncoder().encode('the-secret-of-gatehouse-at-the-other-provider');
  for (const [name, token] of Object.entries({
    'no signature': none,
    'the secret of the client': await new SignJWT(right).setProtectedHeader({ alg: 'HS256' }).sign(secret),
    'the key of another provider': await second.sign(right),
    'another type of token': await upstream.sign(right, { typ: 'at+jwt' }),
    'no token': 'x',
  })) {
    t.equal(await notify(token), 400, name);
  }
  const token = await upstream.sign(right, { typ: 'logout+jwt' });
  t.equal(await notify(token, built.base, PATH.replace('acme', 'second')), 400, 'at another provider');
  t.ok(await isOpen());
  const statuses = await Promise.all([...bases, ...bases].map((base) => notify(token, base)));
  t.strictSame(statuses.sort(), [200, 400, 400, 400], 'once over all replicas');
  t.notOk(await isOpen());
  const { isOpen: isNewOpen } = await session('eve');
  t.equal(await notify(token), 400);
  t.ok(await isNewOpen());
});

const SESSION_REVOKED = 'https://schemas.openid.net/secevent/caep/event-type/session-revoked';
const [EVENTS, REVOCATION] = ['security-events', 'global-token-revocation'].map(
  (kind) => `/sign-in/providers/acme/${kind}`,
) as [string, string];
const person = (sub: string, iss = upstream.issuer) => ({ format: 'iss_sub', iss, sub });
const opaque = (id: string) => ({ format: 'opaque', id });

/** A security event token (RFC 8417) about a subject. */
function securityEvent(sub_id: object, change: object = {}, event: object = {}, typ = 'secevent+jwt') {
  const iat = Math.floor(Date.now() / 1000);
  const events = { [SESSION_REVOKED]: event };
  return upstream.sign(
    { iss: upstream.issuer, aud: 'gatehouse', iat, jti: randomUUID(), events, sub_id, ...change },
    { typ },
  );
}
async function push(token: string, base: string = built.base) {
  const headers = { 'content-type': 'application/secevent+jwt' };
  const response = await fetch(base + EVENTS, { method: 'POST', headers, body: token });
  const body = (await response.text()) || '{}';
  return { status: response.status, err: (JSON.parse(body) as { err?: string }).err };
}

t.test('a security event of the provider ends the sessions that began with its subject', async (t) => {
  for (const [name, subjectOf] of Object.entries({
    'a person': () => person('gus'),
    'a session': ({ sid }: { sid: string }) => opaque(sid),
    'a session of a person': ({ sid }: { sid: string }) => ({
      ...{ format: 'complex', user: person('gus'), session: opaque(sid), tenant: opaque('1') },
    }),
    'a device of a person': () => ({ format: 'complex', user: person('gus'), device: opaque('d') }),
  })) {
    const [first, other] = [await session('gus'), await session('gus')];
    const token = await securityEvent(subjectOf(first));
    t.strictSame(await push(token), { status: 202, err: undefined }, name);
    t.notOk(await first.isOpen(), name);
    t.equal(await other.isOpen(), name.startsWith('a session'), `${name}: the other session`);
    t.equal((await push(token)).status, 202, 'a second time');
  }
  const { isOpen } = await session('gus');
  const past = Math.floor(Date.now() / 1000) - 120;
  t.equal((await push(await securityEvent(person('gus'), {}, { event_timestamp: past }))).status, 202);
  t.equal((await push(await securityEvent(person('gus'), { iat: past }))).status, 202);
  t.ok(await isOpen(), 'an event before the sign-in ends nothing');
  for (const aud of [built.base, [built.base + EVENTS, 'other']])
    t.equal((await push(await securityEvent(person('nobody'), { aud }))).status, 202, String(aud));
  t.ok(await isOpen());
  const events = { 'https://schemas.openid.net/secevent/risc/event-type/account-disabled': { reason: 'x' } };
  t.equal((await push(await securityEvent(person('gus'), { events }))).status, 202);
  t.notOk(await isOpen());
});

t.test('what is no security event of the provider for us ends nothing', async (t) => {
  const { isOpen } = await session('hal');
  const of = person('hal');
  const now = Math.floor(Date.now() / 1000);
  for (const [name, token] of Object.entries({
    'another issuer': await securityEvent(of, { iss: second.issuer }),
    'another audience': await securityEvent(of, { aud: 'somebody' }),
    'no audience': await securityEvent(of, { aud: undefined }),
    'no id': await securityEvent(of, { jti: undefined }),
    'no time': await securityEvent(of, { iat: undefined }),
    'a time to come': await securityEvent(of, { iat: now + 3600 }),
    'no events': await securityEvent(of, { events: undefined }),
    'an ID token': await securityEvent(of, {}, {}, 'jwt'),
    'a logout token': await securityEvent(of, {}, {}, 'logout+jwt'),
    'the key of another provider': await second.sign(
      {
        ...{ iss: upstream.issuer, aud: 'gatehouse', iat: now, jti: 'j', sub_id: of },
        events: { [SESSION_REVOKED]: {} },
      },
      { typ: 'secevent+jwt' },
    ),
    'no token': 'x',
  })) {
    t.strictSame(await push(token), { status: 400, err: 'authentication_failed' }, name);
  }
  const other = { 'https://schemas.openid.net/secevent/ssf/event-type/verification': { state: 's' } };
  for (const [name, token] of Object.entries({
    'an event of another kind': await securityEvent(of, { events: other }),
    'an event that is no object': await securityEvent(of, { events: { [SESSION_REVOKED]: true } }),
    'a person of another issuer': await securityEvent(person('hal', second.issuer)),
    'an unknown format': await securityEvent({ format: 'email', email: 'hal@acme.example' }),
    'a subject of the token alone': await securityEvent(of, { sub_id: undefined, sub: 'hal' }),
    'an issuer that is no URL': await securityEvent(person('hal', 'acme')),
  })) {
    t.equal((await push(token)).status, 202, name);
  }
  t.ok(await isOpen());
});

// Universal Logout of Okta.
t.test('a global token revocation ends all that began with a subject', async (t) => {
  const [first, other] = [await session('ivy'), await session('ivy')];
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: upstream.issuer, aud: built.base + REVOCATION, iat: now, exp: now + 120 };
  const tokenOf = (change: object = {}, typ = 'global-token-revocation+jwt') =>
    upstream.sign({ ...claims, jti: randomUUID(), ...change }, { typ });
  const revoke = async (token: string, body: unknown) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) };
    return (await fetch(built.base + REVOCATION, init)).status;
  };
  const subject = { sub_id: person('ivy') };
  for (const [name, token] of Object.entries({
    'no token': 'x',
    'the audience of ID tokens': await tokenOf({ aud: 'gatehouse' }),
    'another type': await tokenOf({}, 'jwt'),
    'another issuer': await tokenOf({ iss: second.issuer }),
    'no expiry': await tokenOf({ exp: undefined }),
    expired: await tokenOf({ iat: now - 300, exp: now - 60 }),
    'the key of another provider': await second.sign(claims, { typ: 'global-token-revocation+jwt' }),
  })) {
    t.equal(await revoke(token, subject), 401, name);
  }
  const email = { sub_id: { format: 'email', email: 'ivy@acme.example' } };
  const otherIssuer = { sub_id: person('ivy', `${upstream.issuer}/`) };
  for (const body of ['{', {}, email, otherIssuer, null])
    t.equal(await revoke(await tokenOf(), body), 400, JSON.stringify(body));
  t.equal(await revoke(await tokenOf(), { sub_id: person('nobody') }), 404);
  t.ok((await first.isOpen()) && (await other.isOpen()));
  const token = await tokenOf();
  t.strictSame([await revoke(token, subject), await revoke(token, subject)], [204, 401], 'once');
  t.notOk((await first.isOpen()) || (await other.isOpen()));
  const { isOpen } = await session('ivy');
  t.equal(await revoke(await tokenOf(), { subject: person('ivy') }), 204, 'with the earlier name');
  t.notOk(await isOpen());
});

t.test('a sign-in that is not complete ends as well', async (t) => {
  const visitor = built.browser();
  await session('finn');
  const url = await leave(visitor, await visitor.get('/account'));
  const { pathname, search } = await respond(upstream, url);
  const passedOn = await send(built, 'GET', pathname + search, { browser: visitor });
  const done = await send(built, 'GET', String(passedOn.headers.get('location')), { browser: visitor });
  t.equal(done.status, 303);
  await upstream.signOut('finn', sid);
  t.not(heading(await visitor.get(String(done.headers.get('location')))), 'Profile');
});

t.test('while the provider is away, its addresses are in the log only', async (t) => {
  const { logger, text } = recordingLogger();
  const [entry] = upstream.settings();
  const away = { ...entry, issuer: 'http://127.0.0.1:9' } as never;
  const { base } = await build(t, { logger, config: { identityProviders: [away] } });
  const fields = { logout_token: await upstream.sign(claimsOf({ sub: 'cora' })) };
  const { status, html } = await send({ ...built, base }, 'POST', PATH, { fields });
  t.strictSame(
    [status, JSON.parse(html)],
    [400, { error: 'invalid_request', error_description: 'The identity provider could not be reached.' }],
  );
  t.match(text(), /ECONNREFUSED/);
  t.strictSame(await push('x.y.z', base), { status: 503, err: 'temporarily_unavailable' });
});

t.test('failures of one address are limited', async (t) => {
  const config = { identityProviders: upstream.settings(), rateLimit: 'on' as const };
  const { base } = await build(t, { config });
  const statuses: number[] = [];
  for (let i = 0; i < 61; i += 1) statuses.push(await notify('x', base));
  t.strictSame([...new Set(statuses.slice(0, 60))], [400]);
  t.equal(statuses[60], 429);
});
