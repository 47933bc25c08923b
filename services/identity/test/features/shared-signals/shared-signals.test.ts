import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing/processes';
import { decodeJwt } from 'jose';
import t from 'tap';
import { MACHINE, PASSWORD, SPA } from '../../build.ts';
import { setUpApp } from '../authenticator-app/app.ts';
import { ALL, PATH, PUSH, type StreamApplication, setUpStreams } from './stream-setup.ts';

const set = await setUpStreams(t);
const { built, admin, ann, tokenFor, application, create, poll } = set;
const { listening, pushed, person, setRole, deactivate, remove, replaceSecret } = set;
const { call, form, base } = built;
const mails = async () =>
  Promise.all((await readdir(built.outbox)).map((name) => readFile(join(built.outbox, name), 'utf8')));

t.test('streams are for applications, each for itself', async (t) => {
  const [own, other] = [await listening(), await listening(admin)];
  const web = {
    grant_type: 'client_credentials',
    client_id: own.client_id,
    client_secret: own.client_secret,
  };
  const status = async (scope: string, more: Record<string, string> = {}) =>
    (await form({ ...web, ...(scope && { scope }), ...more })).body.error ?? 'issued';
  t.equal(await status('ssf.read'), 'issued');
  t.match(decodeJwt(await tokenFor(own, 'ssf.manage ssf.read')), {
    aud: `${base}/api`,
    scope: 'ssf.manage ssf.read',
  });
  for (const scope of ['', 'openid', 'ssf.manage openid', 'revocations:read'])
    t.equal(await status(scope), 'unauthorized_client', `of type web: ${scope}`);
  t.equal(await status('ssf.manage', { resource: 'https://api.example.com/' }), 'unauthorized_client');
  const machine = await application(ann, 'machine');
  const { body: byDefault } = await form({ grant_type: 'client_credentials', ...machine });
  t.equal(byDefault.scope, 'read:data', 'not by default');
  t.equal((await create(machine)).status, 201, 'a machine');
  const server = await built.createApplication(ann, { name: 'Server', type: 'resource', scopes: [] });
  const { status: ofServer } = await form({
    grant_type: 'client_credentials',
    ...server,
    scope: 'ssf.manage',
  });
  t.equal(ofServer, 400, 'of type resource');
  const ofPerson = await built
    .browser()
    .get(
      `/oauth2/authorize?${new URLSearchParams({ client_id: SPA.client_id, redirect_uri: SPA.redirect_uri, response_type: 'code', scope: 'ssf.manage', code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' })}`,
    );
  t.equal(ofPerson.url.searchParams.get('error'), 'invalid_scope', 'of people');

  const url = `${PATH}/streams?stream_id=${own.id}`;
  for (const [who, token, expected] of [
    ['nobody', undefined, 401],
    ['a malformed token', 'nonsense', 401],
    ['a person', ann, 403],
    ['an admin', admin, 403],
    ['another machine', await built.machineToken(MACHINE), 403],
    ['another application', other.token, 404],
    ['with ssf.read', await tokenFor(own, 'ssf.read'), 200],
    ['itself', own.token, 200],
  ] as const)
    t.equal((await call('GET', url, token)).status, expected, who);
  const reader = await tokenFor(own, 'ssf.read');
  t.equal((await call('DELETE', url, reader)).status, 403, 'ssf.read changes nothing');
  t.equal((await call('POST', `${PATH}/verify`, reader, { stream_id: own.id })).status, 403);
  t.equal((await poll({ ...own, token: reader }, own.id)).status, 200);
  t.equal((await poll(other, own.id)).status, 404, 'the events of another application');
});

t.test('each kind of event, about the people who use the application', async (t) => {
  const [app, other] = [await listening(admin), await listening(ann)];
  const [user, bystander] = [await person(app), await person(other)];
  const next = async (type: string) => {
    await until(async () => (await app.types()).includes(type), 2000);
    const found = await app.events();
    await poll(app, app.id, { ack: found.map(({ claims }) => claims.jti) });
    const event = found.find((it) => it.type === type);
    t.match(event?.claims, { iss: base, aud: app.client_id, jti: String, iat: Number, txn: String });
    t.same(event?.claims.sub_id, { format: 'iss_sub', iss: base, sub: user.id });
    t.ok(Math.abs(Number(event?.event.event_timestamp) - Date.now() / 1000) < 10, 'when it happened');
    return event?.event;
  };
  await setRole(user.id, 'editor');
  t.match(await next('token-claims-change'), { claims: { roles: ['editor'] }, initiating_entity: 'admin' });
  const page = await user.browser.get('/account/password');
  const words = { current_password: PASSWORD, new_password: 'another horse battery' };
  await user.browser.submit(page, words, 'current_password');
  t.match(await next('credential-change'), {
    ...{ credential_type: 'password', change_type: 'update', initiating_entity: 'user' },
    reason_admin: { en: String },
  });
  t.same((await other.types()).length, 0, `nothing about ${bystander.id} so far`);
  t.same(await app.types(), []);
  await deactivate(user.id);
  t.match(await next('account-disabled'), { initiating_entity: 'admin' });
  await remove(user.id);
  t.ok(await next('account-purged'), 'although nothing of the person was left');
  t.same(await other.types(), [], 'the other application heard of nobody');
});

t.test('session-revoked, for each way by which access ends', async (t) => {
  const [app, other] = [await listening(), await listening(admin)];
  const ways: Record<string, (of: Awaited<ReturnType<typeof person>>, refresh: string) => Promise<unknown>> =
    {
      'sign-out': async ({ browser }) =>
        browser.submit(await browser.get('/account'), {}, '/account/sign-out'),
      'the revocation of a refresh token': (_, token) =>
        form({ token, client_id: app.client_id, client_secret: app.client_secret }, {}, '/oauth2/revoke'),
      'the end of all sessions': async ({ username }) =>
        call('DELETE', '/api/v1/sessions', await built.login(username)),
      deactivation: ({ id }) => deactivate(id),
      deletion: ({ id }) => remove(id),
    };
  for (const [way, end] of Object.entries(ways)) {
    const user = await person();
    const { refresh_token: token } = await user.signIn(app);
    await end(user, token);
    await until(async () => (await app.types()).includes('session-revoked'), 2000).catch(() => t.fail(way));
    const found = await app.events();
    t.ok(
      found.every(({ sub }) => sub === user.id),
      way,
    );
    await poll(app, app.id, { ack: found.map(({ claims }) => claims.jti) });
  }
  t.same(await other.events(), []);
});

t.test('a credential that is added is a change', async (t) => {
  const app = await listening();
  const user = await person(app);
  await setUpApp(user.browser);
  const [found] = await app.events();
  t.match(found?.event, { credential_type: 'app', change_type: 'create', initiating_entity: 'user' });
  t.equal(found?.sub, user.id);
});

t.test('a role that the tokens of the application do not show is no event', async (t) => {
  const [app, control] = [await listening(), await listening(admin)];
  const user = await person(app, control);
  await setRole(user.id, 'editor');
  await until(async () => (await control.types()).length > 0, 2000);
  t.same(await app.types(), [], 'its owner is a user');
});

t.test('an application gets what it asked for, about those it has not removed', async (t) => {
  const [app, control] = [await listening(ann, { events_requested: ALL.slice(0, 1) }), await listening()];
  const [user, removed] = [await person(app, control), await person(app, control)];
  const subject = { format: 'iss_sub', iss: base, sub: removed.id };
  await call('POST', `${PATH}/subjects/remove`, app.token, { stream_id: app.id, subject });
  await deactivate(removed.id);
  await deactivate(user.id);
  await until(async () => (await control.types()).length >= 4, 3000);
  t.same(
    (await app.events()).map(({ type, sub }) => [type, sub]),
    [['session-revoked', user.id]],
  );
  t.same(await control.types(), [
    'account-disabled',
    'account-disabled',
    'session-revoked',
    'session-revoked',
  ]);
});

t.test('events are fetched by RFC 8936', async (t) => {
  const app = await listening();
  const verify = (state?: string) =>
    call('POST', `${PATH}/verify`, app.token, { stream_id: app.id, ...(state && { state }) });
  const begun = performance.now();
  const waiting = poll(app, app.id, { returnImmediately: false });
  await sleep(300);
  await verify('first');
  const [first] = Object.keys((await waiting).sets);
  t.ok(performance.now() - begun < 2000, '§2.2: a waiting request gets an event at once');
  const [event] = await app.events();
  t.same(event?.event, { state: 'first' }, 'Shared Signals §8.1.4.1');
  t.same(event?.claims.sub_id, { format: 'opaque', id: app.id });
  t.same(Object.keys((await poll(app, app.id)).sets), [first], '§2.4.1: it comes until it is acknowledged');
  await verify();
  const one = await poll(app, app.id, { maxEvents: 1 });
  t.same(
    [Object.keys(one.sets), one.moreAvailable],
    [[first], true],
    '§2.2: maxEvents, the first event first',
  );
  const { sets } = await poll(app, app.id, { ack: [first] });
  const [second = ''] = Object.keys(sets);
  t.same([Object.keys(sets).length, second !== first], [1, true], '§2.2: ack');
  t.same(await poll(app, app.id, { maxEvents: 0 }), { status: 200, sets: {}, moreAvailable: true });
  const errors = { [second]: { err: 'invalid_request', description: 'no' } };
  t.same((await poll(app, app.id, { setErrs: errors })).sets, {}, '§2.2: setErrs');
  t.equal((await poll(app, app.id, { maxEvents: -1 })).status, 400);
  const replaced = poll(app, app.id, { returnImmediately: false });
  await sleep(200);
  const last = poll(app, app.id, { returnImmediately: false });
  t.same((await replaced).sets, {}, 'a further request replaces one that waits');
  await verify();
  t.equal(Object.keys((await last).sets).length, 1);
  await poll(app, app.id, { ack: Object.keys((await last).sets) });
  const setStatus = (status: string) =>
    call('POST', `${PATH}/status`, app.token, { stream_id: app.id, status });
  const open = poll(app, app.id, { returnImmediately: false });
  await sleep(200);
  await setStatus('paused');
  await verify();
  t.equal(await Promise.race([open, sleep(500, 'waits')]), 'waits', 'a paused stream transmits nothing');
  await setStatus('enabled');
  t.equal(Object.keys((await open).sets).length, 1);
});

t.test('events are sent by RFC 8935, again until they are accepted', async (t) => {
  const header = 'Bearer of-the-receiver';
  const app = await pushed(ann, { authorization_header: header });
  app.at.reply.statuses = [503, 302, 202];
  await call('POST', `${PATH}/verify`, app.token, { stream_id: app.id, state: 'x' });
  await until(() => app.at.requests.length === 3, 10_000);
  const [first] = app.at.requests;
  t.match(first, {
    method: 'POST',
    headers: {
      'content-type': 'application/secevent+jwt',
      accept: 'application/json',
      authorization: header,
    },
  });
  const received = await app.at.received();
  t.equal(new Set(received.map(({ claims }) => claims.jti)).size, 1, 'one event');
  app.at.reply.statuses = [400];
  app.at.reply.body = JSON.stringify({ err: 'invalid_audience', description: 'not mine' });
  await call('POST', `${PATH}/verify`, app.token, { stream_id: app.id });
  await until(() => app.at.requests.length === 4, 3000);
  await sleep(2000);
  t.equal(app.at.requests.length, 4, '§2.4: an event that is refused does not come again');

  app.at.reply.body = JSON.stringify({ err: 'invalid_state', description: 'another one' });
  await call('POST', `${PATH}/verify`, app.token, { stream_id: app.id, state: 'y' });
  await until(() => app.at.requests.length === 5, 3000);
  await sleep(2000);
  t.equal(app.at.requests.length, 5, 'Shared Signals §8.1.4.1: nor a verification with an unexpected state');

  const database = await built.database();
  const stored = JSON.stringify(await database.collection('event_streams').find().toArray());
  t.notOk(stored.includes('of-the-receiver'), 'the header is stored encrypted');
  const { body } = await call('GET', `${PATH}/streams?stream_id=${app.id}`, app.token);
  t.same(body.delivery, { method: PUSH, endpoint_url: app.at.url }, 'and not returned');
  app.at.reply.statuses = [202];
  const authorizationAfter = async (method: string, delivery: object) => {
    const before = app.at.requests.length;
    await call(method, `${PATH}/streams`, app.token, { stream_id: app.id, delivery });
    await call('POST', `${PATH}/verify`, app.token, { stream_id: app.id });
    await until(() => app.at.requests.length > before, 3000);
    return app.at.requests.at(-1)?.headers.authorization;
  };
  const same = { method: PUSH, endpoint_url: app.at.url };
  t.equal(await authorizationAfter('PATCH', same), header, 'an update keeps it for the same URL');
  t.equal(
    await authorizationAfter('PATCH', { ...same, authorization_header: null }),
    undefined,
    'null removes it',
  );
  t.equal(await authorizationAfter('PATCH', { ...same, authorization_header: header }), header);
  const elsewhere = { method: PUSH, endpoint_url: `${app.at.url}/other` };
  t.equal(await authorizationAfter('PATCH', elsewhere), undefined, 'and for no other');
  t.equal(await authorizationAfter('PUT', { ...same, authorization_header: 'Bearer 2' }), 'Bearer 2');
  t.equal(await authorizationAfter('PUT', same), undefined, 'a replacement removes it');
  for (const endpoint_url of [
    '',
    'ftp://a.example',
    'http://a.example/',
    'https://u:p@a.example/',
    'nonsense',
  ]) {
    const { status } = await create(await application(), { delivery: { method: PUSH, endpoint_url } });
    t.equal(status, 400, endpoint_url);
  }
});

t.test('a paused stream holds its events, a disabled one has none', async (t) => {
  const app = await pushed();
  const [held, lost] = [await person(app), await person(app)];
  const setStatus = (status: string) =>
    call('POST', `${PATH}/status`, app.token, { stream_id: app.id, status });
  await setStatus('paused');
  await deactivate(held.id);
  await sleep(1500);
  t.equal(app.at.requests.length, 0);
  await setStatus('enabled');
  await app.at.until('account-disabled');
  await setStatus('disabled');
  await deactivate(lost.id);
  await sleep(1500);
  await setStatus('enabled');
  await sleep(1000);
  const received = await app.at.received();
  t.ok(received.every(({ sub }) => sub === held.id));
});

t.test('events about a person are sent in their order (Shared Signals §8.1.2.1)', async (t) => {
  const app = await pushed(admin);
  const user = await person(app);
  const setStatus = (status: string) =>
    call('POST', `${PATH}/status`, app.token, { stream_id: app.id, status });
  const events = (await built.database()).collection('security_events');
  const stored = () => events.find({ stream_id: app.id }, { sort: { created_at: 1 } }).toArray();
  await setStatus('paused');
  for (const [i, role] of ['editor', 'user', 'editor', 'user'].entries()) {
    await setRole(user.id, role);
    await until(
      async () => (await stored()).filter(({ type }) => String(type).endsWith('claims-change')).length > i,
      3000,
    );
  }
  app.at.reply.pauseMs = 100;
  await setStatus('enabled');
  const ids = (await stored()).map(({ _id }) => String(_id));
  await until(() => app.at.requests.length >= ids.length, 10_000);
  t.same(
    (await app.at.received()).map(({ claims }) => claims.jti),
    ids,
  );
  t.equal(app.at.open.most, 1, 'one after the other');
});

t.test('a stream ends with what it rests on', async (t) => {
  const path = (app: StreamApplication) => `/api/v1/applications/${app.client_id}`;
  const rotated = await pushed();
  const token = await replaceSecret(rotated);
  const status = async () => (await call('GET', `${PATH}/status?stream_id=${rotated.id}`, token)).body.status;
  t.equal(await status(), 'paused', 'the secret with which it was made has ended');
  const verify = () => call('POST', `${PATH}/verify`, token, { stream_id: rotated.id });
  await Promise.all([verify(), verify(), verify()]);
  await sleep(1500);
  const received = async () =>
    (await rotated.at.received()).map(({ type, event, claims }) => [type, event.status, claims.sub_id]);
  const about = { format: 'opaque', id: rotated.id };
  t.same(
    await received(),
    [['stream-updated', 'paused', about]],
    'the receiver hears that and no more (Shared Signals §8.1.5)',
  );
  await call('POST', `${PATH}/status`, token, { stream_id: rotated.id, status: 'enabled' });
  t.equal(await status(), 'enabled', 'until another credential enables it');
  await rotated.at.until('verification', 3);
  await rotated.at.until('stream-updated', 2);
  const updates = (await received()).filter(([type]) => type === 'stream-updated');
  t.same(
    updates.map(([, is]) => is),
    ['paused', 'enabled'],
  );
  const polled = await listening();
  const waiting = poll(polled, polled.id, { returnImmediately: false });
  const next = { ...polled, token: await replaceSecret(polled) };
  for (const [method, at] of [
    ['GET', `status?stream_id=${polled.id}`],
    ['POST', `events/${polled.id}`],
    ['DELETE', `streams?stream_id=${polled.id}`],
  ] as const)
    t.equal(
      (await call(method, `${PATH}/${at}`, polled.token)).status,
      401,
      `${method} ${at} with an old token`,
    );
  const { body } = await call('GET', `${PATH}/status?stream_id=${polled.id}`, next.token);
  t.equal(body.status, 'enabled', 'a poll needs a credential itself');
  await call('POST', `${PATH}/verify`, next.token, { stream_id: polled.id });
  t.same((await waiting).sets, {}, 'a poll that waited since before');
  t.equal(Object.keys((await poll(next, polled.id)).sets).length, 1);

  const owner = await person();
  const login = await built.login(owner.username);
  const [deleted, left] = [await pushed(), await pushed(login)];
  const database = await built.database();
  const isStored = async (app: { id: string }) =>
    (await database.collection('event_streams').countDocuments({ _id: app.id as never })) > 0;
  t.ok((await isStored(deleted)) && (await isStored(left)));
  await call('DELETE', path(deleted), ann);
  await until(async () => !(await isStored(deleted)), 3000);
  await remove(owner.id);
  // Which users asks for when the other services have erased theirs.
  await call('POST', '/internal/identity/erasures', await built.serviceToken('users'), { user_id: owner.id });
  await until(async () => !(await isStored(left)), 5000);
  const user = await person();
  await setRole(user.id, 'editor');
  t.equal(deleted.at.requests.length + left.at.requests.length, 0);
});

t.test('the owner gets a mail, and the audit log an entry', async (t) => {
  const app = await pushed();
  await call('DELETE', `${PATH}/streams?stream_id=${app.id}`, app.token);
  const { body } = await call('GET', `/api/v1/audit?client_id=${app.client_id}`, admin);
  const entries = body.data as { action: string; details?: { host?: string } }[];
  for (const action of ['event_stream.created', 'event_stream.deleted']) {
    const entry = entries.find((it) => it.action === action);
    t.equal(entry?.details?.host, new URL(app.at.url).host, action);
  }
  await until(async () => (await mails()).some((text) => text.includes('An event stream was created')), 3000);
});
