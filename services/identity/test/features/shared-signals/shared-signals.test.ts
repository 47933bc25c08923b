import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing/processes';
import { decodeJwt } from 'jose';
import t from 'tap';
import { build, MACHINE, PASSWORD, SPA } from '../../build.ts';
import { tokensFor } from '../../tokens.ts';
import { setUpApp } from '../authenticator-app/app.ts';
import { receiver, setVerifier } from './receiver.ts';

const built = await build(t, {
  checkResponses: true,
  config: { sharedSignalsNetworks: ['127.0.0.0/8'] },
});
const { call, form, base } = built;
const [admin, ann] = [await built.login('admin'), await built.login('ann')];
const PATH = '/api/v1/ssf';
const EVENTS = 'https://schemas.openid.net/secevent';
const ALL = [
  ...['session-revoked', 'credential-change', 'token-claims-change'].map(
    (it) => `${EVENTS}/caep/event-type/${it}`,
  ),
  ...['account-disabled', 'account-purged'].map((it) => `${EVENTS}/risc/event-type/${it}`),
];
const POLL = 'urn:ietf:rfc:8936';
const PUSH = 'urn:ietf:rfc:8935';
const redirect_uri = 'https://app.example.org/callback';

const tokenFor = async (client: { client_id: string; client_secret: string }, scope = 'ssf.manage') => {
  const { client_id, client_secret } = client;
  const { status, body } = await form({ grant_type: 'client_credentials', client_id, client_secret, scope });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return String(body.access_token);
};
/** A web application, with its token for its stream. */
async function application(login = ann, type = 'web') {
  const isWeb = type === 'web';
  const draft = { name: 'Listening', type, scopes: isWeb ? ['openid', 'roles'] : ['read:data'] };
  const made = await built.createApplication(
    login,
    isWeb ? { ...draft, redirect_uris: [redirect_uri] } : draft,
  );
  return { ...made, redirect_uri, token: await tokenFor(made) };
}
type App = Awaited<ReturnType<typeof application>>;
const create = (app: App, body: object = {}) => call('POST', `${PATH}/streams`, app.token, body);
/** Fetches the events, and acknowledges those that were fetched before. */
async function poll(app: App, id: unknown, more: object = {}) {
  const url = `${PATH}/events/${id}`;
  const { status, body } = await call('POST', url, app.token, { returnImmediately: true, ...more });
  return { status, ...(body as { sets: Record<string, string>; moreAvailable: boolean }) };
}
/** An application that fetches its events. */
async function listening(login = ann, more: object = {}) {
  const app = await application(login);
  const { body } = await create(app, { events_requested: ALL, ...more });
  const id = String(body.stream_id);
  const verify = setVerifier(base, app.client_id);
  const events = async () => Promise.all(Object.values((await poll(app, id)).sets).map(verify));
  const types = async () => (await events()).map(({ type }) => type).sort();
  return { ...app, id, events, types };
}
/** An application to which its events are sent. */
async function pushed(login = ann, delivery: object = {}) {
  const app = await application(login);
  const at = await receiver(t, base, app.client_id);
  const { status, body } = await create(app, {
    delivery: { method: PUSH, endpoint_url: at.url, ...delivery },
    events_requested: ALL,
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return { ...app, at, id: String(body.stream_id) };
}
let people = 0;
async function person(...apps: App[]) {
  people += 1;
  const username = `person${people}`;
  const id = await built.createPerson(username);
  const browser = built.browser();
  const signIn = (app: App) =>
    tokensFor(built, { client: app, browser, username, password: PASSWORD, more: { scope: 'openid roles' } });
  for (const app of apps) await signIn(app);
  return { id, username, browser, signIn };
}
const setRole = (id: string, role: string) => call('PUT', `/v2/users/${id}/role`, admin, { role });
const deactivate = (id: string) => call('PUT', `/v1/users/${id}/status`, admin, { status: 'inactive' });
const remove = (id: string) => call('DELETE', `/v2/users/${id}`, admin);
const mails = async () =>
  Promise.all((await readdir(built.outbox)).map((name) => readFile(join(built.outbox, name), 'utf8')));

t.test('the metadata of the transmitter (§7.1)', async (t) => {
  const { status, headers, body } = await call('GET', '/.well-known/ssf-configuration');
  t.equal(status, 200);
  t.match(headers.get('content-type'), /^application\/json/, '§7.2.2');
  const keys = await (await fetch(String(body.jwks_uri))).json();
  t.ok((keys as { keys: unknown[] }).keys.length > 0);
  for (const [member, value] of Object.entries({
    spec_version: '1_0',
    issuer: base,
    delivery_methods_supported: [PUSH, POLL],
    configuration_endpoint: `${base}${PATH}/streams`,
    status_endpoint: `${base}${PATH}/status`,
    add_subject_endpoint: `${base}${PATH}/subjects/add`,
    remove_subject_endpoint: `${base}${PATH}/subjects/remove`,
    verification_endpoint: `${base}${PATH}/verify`,
    authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
    default_subjects: 'ALL',
  }))
    t.same(body[member], value, member);
});

t.test('the requirements of §8 on a transmitter', async (t) => {
  const app = await application();
  const { body: stream, status } = await create(app, {
    events_requested: [...ALL, 'https://example.com/other'],
  });
  t.equal(status, 201, '§8.1.1.1: a created stream is 201');
  const id = stream.stream_id;
  const streams = `${PATH}/streams`;
  const settings = { stream_id: id, events_requested: ALL.slice(0, 1) };
  const [one, gone] = [`?stream_id=${id}`, '?stream_id=str_none'];
  const subject = { format: 'iss_sub', iss: base, sub: built.people.ann.id };
  const rows: [string, string, string, unknown, number, object?][] = [
    ['§8.1.1.1: a second stream is 409', 'POST', streams, {}, 409],
    ['§8.1.1.1: what cannot be parsed is 400', 'POST', streams, { events_requested: 1 }, 400],
    [
      '§8.1.1.2: the stream',
      'GET',
      streams + one,
      undefined,
      200,
      { stream_id: id, iss: base, aud: app.client_id },
    ],
    ['§8.1.1.2: without stream_id a list', 'GET', streams, undefined, 200, { 0: { stream_id: id } }],
    ['§8.1.1.2: an unknown stream is 404', 'GET', streams + gone, undefined, 404],
    ['§8.1.1.3: an update', 'PATCH', streams, settings, 200, { events_delivered: ALL.slice(0, 1) }],
    [
      '§8.1.1.3: other members stay',
      'PATCH',
      streams,
      { stream_id: id, description: 'Mine' },
      200,
      { events_requested: ALL.slice(0, 1), description: 'Mine' },
    ],
    ['§8.1.1.3: supplied members that match', 'PATCH', streams, { ...settings, iss: base }, 200],
    [
      '§8.1.1.3: supplied members that differ are 400',
      'PATCH',
      streams,
      { ...settings, iss: 'https://other' },
      400,
    ],
    ['§8.1.1.3: an unknown stream is 404', 'PATCH', streams, { stream_id: 'str_none' }, 404],
    [
      '§8.1.1.4: a replacement',
      'PUT',
      streams,
      { stream_id: id, events_requested: ALL },
      200,
      { events_requested: ALL },
    ],
    [
      '§8.1.1.4: what is missing is removed',
      'GET',
      streams + one,
      undefined,
      200,
      { description: undefined },
    ],
    ['§8.1.1.4: an unknown stream is 404', 'PUT', streams, { stream_id: 'str_none' }, 404],
    [
      '§8.1.2.1: the status',
      'GET',
      `${PATH}/status${one}`,
      undefined,
      200,
      { stream_id: id, status: 'enabled' },
    ],
    ['§8.1.2.1: an unknown stream is 404', 'GET', `${PATH}/status${gone}`, undefined, 404],
    [
      '§8.1.2.2: another status',
      'POST',
      `${PATH}/status`,
      { stream_id: id, status: 'paused', reason: 'Upgrade' },
      200,
      { status: 'paused', reason: 'Upgrade' },
    ],
    [
      '§8.1.2.2: an unknown status is 400',
      'POST',
      `${PATH}/status`,
      { stream_id: id, status: 'broken' },
      400,
    ],
    [
      '§8.1.2.2: an unknown stream is 404',
      'POST',
      `${PATH}/status`,
      { stream_id: 'str_none', status: 'paused' },
      404,
    ],
    ['§8.1.3.2: a subject is added', 'POST', `${PATH}/subjects/add`, { stream_id: id, subject }, 200],
    [
      '§9.3: whoever that is',
      'POST',
      `${PATH}/subjects/add`,
      { stream_id: id, subject: { ...subject, sub: 'none' } },
      200,
    ],
    [
      '§8.1.3.2: an unknown stream is 404',
      'POST',
      `${PATH}/subjects/add`,
      { stream_id: 'str_none', subject },
      404,
    ],
    ['§8.1.3.3: a subject is removed', 'POST', `${PATH}/subjects/remove`, { stream_id: id, subject }, 204],
    [
      '§8.1.3.3: a subject without a format is 400',
      'POST',
      `${PATH}/subjects/remove`,
      { stream_id: id, subject: {} },
      400,
    ],
    ['§8.1.4.2: a verification', 'POST', `${PATH}/verify`, { stream_id: id, state: 'x' }, 204],
    ['§8.1.4.2: an unknown stream is 404', 'POST', `${PATH}/verify`, { stream_id: 'str_none' }, 404],
    ['§8.1.1.5: a deletion', 'DELETE', streams + one, undefined, 204],
    ['§8.1.1.5: an unknown stream is 404', 'DELETE', streams + one, undefined, 404],
    ['§8.1.1.2: no stream is an empty list', 'GET', streams, undefined, 200, { length: 0 }],
  ];
  t.same(stream.events_delivered, ALL, 'those that are requested and supported');
  t.same(stream.events_supported, ALL);
  t.same(
    stream.delivery,
    { method: POLL, endpoint_url: `${base}${PATH}/events/${id}` },
    'it is polled by default',
  );
  for (const [name, method, path, body, expected, shown] of rows) {
    const response = await call(method, path, app.token, body);
    t.equal(response.status, expected, name);
    for (const [member, value] of Object.entries(shown ?? {}))
      if (member === '0') t.match((response.body as unknown as object[])[0], value, name);
      else t.same(response.body[member], value, name);
  }
});

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
  t.ok(performance.now() - begun < 2000, '§2.4: a waiting request gets an event at once');
  const [event] = await app.events();
  t.same(event?.event, { state: 'first' }, 'Shared Signals §8.1.4.1');
  t.same(event?.claims.sub_id, { format: 'opaque', id: app.id });
  t.same(Object.keys((await poll(app, app.id)).sets), [first], '§2.4: it comes until it is acknowledged');
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

t.test('a stream ends with what it rests on', async (t) => {
  const path = (app: App) => `/api/v1/applications/${app.client_id}`;
  const rotated = await pushed();
  const { body: added } = await call('POST', `${path(rotated)}/secrets`, ann, {});
  const { body: list } = await call('GET', `${path(rotated)}/secrets`, ann);
  const old = (list.data as { id: string }[]).find(({ id }) => id !== added.id)?.id;
  t.equal((await call('DELETE', `${path(rotated)}/secrets/${old}`, ann)).status, 204);
  const token = await tokenFor({ ...rotated, client_secret: String(added.client_secret ?? added.secret) });
  const status = async () => (await call('GET', `${PATH}/status?stream_id=${rotated.id}`, token)).body.status;
  t.equal(await status(), 'paused', 'the secret with which it was made has ended');
  await call('POST', `${PATH}/verify`, token, { stream_id: rotated.id });
  await sleep(1500);
  t.equal(rotated.at.requests.length, 0, 'nothing is sent');
  await call('POST', `${PATH}/status`, token, { stream_id: rotated.id, status: 'enabled' });
  t.equal(await status(), 'enabled', 'until another credential enables it');
  await rotated.at.until('verification');

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
