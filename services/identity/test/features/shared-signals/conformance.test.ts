import { until } from '@gatehouse/testing/processes';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import t from 'tap';
import { PASSWORD } from '../../build.ts';
import { setUpApp } from '../authenticator-app/app.ts';
import { setVerifier } from './receiver.ts';
import { SECTIONS, type Section } from './sections.ts';
import { ALL, PATH, POLL, PUSH, setUpStreams } from './stream-setup.ts';

const { built, ann, tokenFor, admin, application, create, listening, person, poll } = await setUpStreams(t);
const { call, base } = built;
const none = { stream_id: 'str_none' };
const cite = (section: Section, requirement: string) =>
  `${section} ${SECTIONS[section]}: ${requirement}`.replace(/^\d/, '§$&');

t.test('the metadata of the transmitter', async (t) => {
  const { status, headers, body } = await call('GET', '/.well-known/ssf-configuration');
  const { issuer, jwks_uri } = body as { issuer: string; jwks_uri: string };
  const at = (path: string) => `${base}${PATH}${path}`;
  const { keys } = (await (await fetch(jwks_uri)).json()) as { keys: { alg: string; n?: string }[] };
  const bits = keys.flatMap(({ n }) => (n === undefined ? [] : [Buffer.from(n, 'base64url').length * 8]));
  const { token } = await application();
  const { exp = Infinity, iat = 0 } = decodeJwt(token);
  const rows: [Section, string, unknown, unknown][] = [
    ['CAEP profile 2.7.1', 'an access token lives for an hour at most', exp - iat <= 3600, true],
    ['7.2', 'at the well-known path before the path of the issuer, which has none', issuer, base],
    ['7.2.3', 'a successful response is 200', status, 200],
    ['7.2.3', 'of type application/json', headers.get('content-type')?.split(';')[0], 'application/json'],
    ['7.2.3', 'no member is an empty list', Object.values(body).filter((it) => [it].flat().length === 0), []],
    ['7.2.4', 'issuer is the URL from which it was got', issuer, base],
    ['CAEP profile 2.3.2', 'delivery_methods_supported', body.delivery_methods_supported, [PUSH, POLL]],
    ['7.1', 'no subject is complex, so no member is critical', body.critical_subject_members, undefined],
    ['7.1', 'default_subjects', body.default_subjects, 'ALL'],
    ['7.1', 'add_subject_endpoint', body.add_subject_endpoint, at('/subjects/add')],
    ['7.1', 'remove_subject_endpoint', body.remove_subject_endpoint, at('/subjects/remove')],
    ['CAEP profile 2.3.1', 'spec_version', body.spec_version, '1_0'],
    ['CAEP profile 2.3.4', 'configuration_endpoint', body.configuration_endpoint, at('/streams')],
    ['CAEP profile 2.3.5', 'status_endpoint', body.status_endpoint, at('/status')],
    ['CAEP profile 2.3.6', 'verification_endpoint', body.verification_endpoint, at('/verify')],
    ['CAEP profile 2.3.7', 'OAuth', body.authorization_schemes, [{ spec_urn: 'urn:ietf:rfc:6749' }]],
    [
      'CAEP profile 2.6',
      'RSA keys have at least 2048 bits',
      bits.length > 0 && Math.min(...bits) >= 2048,
      true,
    ],
  ];
  const challenge = (await call('GET', `${PATH}/streams`)).headers.get('www-authenticate') ?? '';
  const [, resource = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
  const { scopes_supported: scopes } = (await (await fetch(resource)).json()) as {
    scopes_supported: string[];
  };
  const ofStreams = scopes.filter((it) => it.startsWith('ssf.'));
  t.same(
    ofStreams,
    ['ssf.manage', 'ssf.read'],
    cite('CAEP profile 2.7.2', 'the metadata of the API has them'),
  );
  for (const [section, requirement, found, wanted] of rows) t.same(found, wanted, cite(section, requirement));
});

t.test('the requests of the management API', async (t) => {
  const app = await application();
  const { body: created } = await create(app, { events_requested: [...ALL, 'https://example.com/other'] });
  const id = created.stream_id;
  const stream = { stream_id: id };
  const one = `?stream_id=${id}`;
  const subject = { format: 'iss_sub', iss: base, sub: built.people.ann.id };
  const about = { ...stream, subject };
  const delivery = { method: POLL, endpoint_url: `${base}${PATH}/events/${id}` };
  const supplied = { iss: base, aud: app.client_id, events_supported: ALL, events_delivered: ALL };
  const first = ALL.slice(0, 1);
  // One after the other, with the token of the application.
  const rows: [Section, string, string, object | undefined, number, object?][] = [
    [
      '8.1.1',
      'what the transmitter supplies',
      `GET /streams${one}`,
      undefined,
      200,
      { ...stream, ...supplied },
    ],
    ['8.1.1', 'unknown events are ignored', `GET /streams${one}`, undefined, 200, { events_delivered: ALL }],
    ['8.1.1.1', 'a second stream is 409', 'POST /streams', {}, 409],
    ['8.1.1.1', 'another delivery method is 400', 'POST /streams', { delivery: { method: 'urn:x' } }, 400],
    ['8.1.1.1', 'without delivery it is polled', `GET /streams${one}`, undefined, 200, { delivery }],
    ['8.1.1.2', 'without stream_id a list', 'GET /streams', undefined, 200, { 0: stream, length: 1 }],
    ['8.1.1.3', 'a sent property is updated', 'PATCH /streams', { ...stream, description: 'Mine' }, 200],
    ['8.1.1.3', 'a missing property stays', 'PATCH /streams', stream, 200, { description: 'Mine', delivery }],
    ['8.1.1.3', 'supplied properties that match', 'PATCH /streams', { ...stream, ...supplied }, 200],
    [
      ...(['8.1.1.3', 'events_delivered matches the value before the update'] as const),
      ...(['PATCH /streams', { ...stream, events_requested: first, events_delivered: ALL }, 200] as const),
      { events_delivered: first },
    ],
    [
      '8.1.1.3',
      'another interval is 400',
      'PATCH /streams',
      { ...stream, min_verification_interval: 1 },
      400,
    ],
    ['8.1.1.3', 'another timeout is 400', 'PATCH /streams', { ...stream, inactivity_timeout: 1 }, 400],
    [
      ...(['8.1.1.3', 'another URL for polls is 400', 'PATCH /streams'] as const),
      ...([{ ...stream, delivery: { method: POLL, endpoint_url: 'https://other.example/' } }, 400] as const),
    ],
    ['8.1.1.3', 'another aud is 400', 'PATCH /streams', { ...stream, aud: 'app_other' }, 400],
    [
      '8.1.1.3',
      'other events_delivered are 400',
      'PATCH /streams',
      { ...stream, events_delivered: ALL },
      400,
    ],
    [
      '8.1.1.4',
      'a replacement',
      'PUT /streams',
      { ...stream, events_requested: ALL, delivery },
      200,
      supplied,
    ],
    [
      '8.1.1.4',
      'missing properties are deleted',
      `GET /streams${one}`,
      undefined,
      200,
      { description: undefined },
    ],
    ['8.1.1.4', 'another iss is 400', 'PUT /streams', { ...stream, iss: 'https://other.example' }, 400],
    [
      '8.1.1',
      'events_requested is not empty',
      'PUT /streams',
      stream,
      200,
      { events_requested: undefined, events_delivered: [] },
    ],
    ['8.1.2.1', 'the status', `GET /status${one}`, undefined, 200, { ...stream, status: 'enabled' }],
    ...(['paused', 'disabled', 'enabled'] as const).map(
      (status): [Section, string, string, object, number, object] => [
        ...(['CAEP profile 2.3.5', status, 'POST /status', { ...stream, status, reason: 'Mine' }] as const),
        ...([200, { ...stream, status, reason: 'Mine' }] as const),
      ],
    ),
    ['8.1.2.2', 'an unknown status is 400', 'POST /status', { ...stream, status: 'broken' }, 400],
    ['8.1.3.2', 'a subject is added', 'POST /subjects/add', { ...about, verified: true }, 200],
    [
      '9.1',
      'a person who does not exist',
      'POST /subjects/add',
      { ...stream, subject: { ...subject, sub: 'none' } },
      200,
    ],
    ['8.1.3.3', 'a subject is removed', 'POST /subjects/remove', about, 204],
    ['8.1.3.3', 'a subject without format is 400', 'POST /subjects/remove', { ...stream, subject: {} }, 400],
    [
      '8.1.3.2',
      'an iss_sub without sub is 400',
      'POST /subjects/add',
      { ...stream, subject: { format: 'iss_sub', iss: base } },
      400,
    ],
    [
      '8.1.3.2',
      'another format is silent',
      'POST /subjects/add',
      { ...stream, subject: { format: 'email', email: 'a@example.org' } },
      200,
    ],
    ['8.1.4.2', 'a verification', 'POST /verify', { ...stream, state: 'x' }, 204],
    ['8.1.2.1', 'a disabled stream', 'POST /status', { ...stream, status: 'disabled' }, 200],
    ['8.1.2.1', 'a disabled stream holds no verification', 'POST /verify', stream, 400],
    ['8.1.1.5', 'a deletion', `DELETE /streams${one}`, undefined, 204],
    ['8.1.1.5', 'a stream that is gone is 404', `DELETE /streams${one}`, undefined, 404],
    ['8.1.1.2', 'without streams an empty list', 'GET /streams', undefined, 200, { length: 0 }],
  ];
  for (const [section, requirement, request, sent, status, shown] of rows) {
    const [method = '', path = ''] = request.split(' ');
    const response = await call(method, PATH + path, app.token, sent);
    const { status: found, body } = response;
    const members = Object.keys(shown ?? {}).map((key) => [key, Object(body)[key]]);
    t.match(
      { status: found, ...Object.fromEntries(members) },
      { status, ...shown },
      cite(section, requirement),
    );
    t.equal(response.headers.get('cache-control'), 'no-store');
    if (section === '8.1.3.2' && status === 200)
      t.equal(response.headers.get('content-length'), '0', cite(section, 'the response is empty'));
  }
  t.match(id, /^[\w.~-]+$/, cite('8.1.1', 'an ID has unreserved characters'));
  for (const method of [PUSH, POLL]) {
    const endpoint_url = method === PUSH ? 'https://a.example/' : undefined;
    const { status, body } = await create(app, { delivery: { method, endpoint_url } });
    t.match(body.delivery, { method, endpoint_url: String }, cite('CAEP profile 2.3.8.1', method));
    t.match(
      { status, isNew: body.stream_id !== id },
      { status: 201, isNew: true },
      cite('8.1.1.1', 'a new ID'),
    );
    await call('DELETE', `${PATH}/streams?stream_id=${body.stream_id}`, app.token);
  }
});

t.test('the errors of each endpoint', async (t) => {
  const [own, other] = [await listening(), await listening(ann)];
  const stream = { stream_id: own.id };
  const [id, unknown] = [`?stream_id=${own.id}`, '?stream_id=str_none'];
  const subject = { format: 'iss_sub', iss: base, sub: built.people.ann.id };
  const weak = await built.machineToken();
  const reader = await tokenFor(own, 'ssf.read');
  // `sent` is the body, and `query` what stands for it in a request without one.
  const endpoints: { at: Section; request: string; sent?: object; query?: boolean; reads?: boolean }[] = [
    { at: '8.1.1.2', request: 'GET /streams', query: true, reads: true },
    { at: '8.1.1.3', request: 'PATCH /streams', sent: {} },
    { at: '8.1.1.4', request: 'PUT /streams', sent: {} },
    { at: '8.1.1.5', request: 'DELETE /streams', query: true },
    { at: '8.1.2.1', request: 'GET /status', query: true, reads: true },
    { at: '8.1.2.2', request: 'POST /status', sent: { status: 'paused' } },
    { at: '8.1.3.2', request: 'POST /subjects/add', sent: { subject } },
    { at: '8.1.3.3', request: 'POST /subjects/remove', sent: { subject } },
    { at: '8.1.4.2', request: 'POST /verify', sent: {} },
  ];
  for (const { at, request, sent, query = false, reads = false } of endpoints) {
    const [method = '', path = ''] = request.split(' ');
    const url = PATH + path;
    const to = (token: string | undefined, of = query ? id : '', more: object = stream) =>
      call(method, url + of, token, sent && { ...sent, ...more });
    const rows: [Section, string, Awaited<ReturnType<typeof to>>, number, RegExp?][] = [
      [at, 'without a token', await to(undefined), 401, /^Bearer /],
      [at, 'an invalid token', await to('nonsense'), 401, /error="invalid_token"/],
      [
        'CAEP profile 2.7.3',
        'a token in the query',
        await to(undefined, `${id}&access_token=${own.token}`),
        401,
      ],
      ['CAEP profile 2.7.3', 'another scope', await to(weak), 403, /"insufficient_scope", scope="ssf\./],
      [at, 'the stream of another application', await to(other.token), 404],
      [at, 'an unknown stream', await to(own.token, query ? unknown : '', none), 404],
      ...(reads
        ? []
        : [[at, 'ssf.read changes nothing', await to(reader), 403] as [Section, string, never, number]]),
      ...(query
        ? []
        : [[at, 'no stream_id', await to(own.token, '', {}), 400] as [Section, string, never, number]]),
    ];
    for (const [section, requirement, { status, headers }, wanted, challenge] of rows) {
      const about = cite(section, `${request}, ${requirement} is ${wanted}`);
      t.equal(status, wanted, about);
      if (challenge !== undefined) t.match(headers.get('www-authenticate'), challenge, about);
    }
    if (reads)
      t.equal((await to(reader)).status, 200, cite('CAEP profile 2.7.2', `${request} with ssf.read`));
    if (sent === undefined) continue;
    const headers = { authorization: `Bearer ${own.token}`, 'content-type': 'application/json' };
    const { status } = await fetch(base + url, { method, headers, body: '{' });
    t.equal(status, 400, cite(at, `${request}, a body that is not JSON is 400`));
  }
  t.equal((await call('POST', `${PATH}/streams`)).status, 401, cite('8.1.1.1', 'without a token'));
  t.equal((await call('POST', `${PATH}/streams`, reader)).status, 403, cite('8.1.1.1', 'with ssf.read'));
});

t.test('verifications that wait for their receiver', async (t) => {
  const app = await listening();
  const verify = () => call('POST', `${PATH}/verify`, app.token, { stream_id: app.id });
  const { body } = await call('GET', `${PATH}/streams?stream_id=${app.id}`, app.token);
  t.equal(body.min_verification_interval, 60, cite('8.1.1', 'min_verification_interval'));
  for (let i = 0; i < 100; i += 1) await verify();
  const { status, headers } = await verify();
  t.equal(status, 429, cite('8.1.4.2', 'too many requests are 429'));
  t.ok(Number(headers.get('retry-after')) > 50 && Number(headers.get('retry-after')) <= 60);
  const events = (await built.database()).collection('security_events');
  const earlier = { $set: { created_at: { $subtract: ['$created_at', 60_000] } } };
  await events.updateMany({ stream_id: app.id }, [earlier]);
  t.equal((await verify()).status, 204, cite('8.1.1', 'the interval is kept, so it is no 429'));
});

/** The events of applications, as they were signed: of changed accounts and credentials, sign-outs and verifications. */
async function signedEvents() {
  const app = await listening(admin);
  const [user, other] = [await person(app), await person(app)];
  // A caller chooses this ID, so two requests can have the same.
  const headers = {
    authorization: `Bearer ${admin}`,
    'content-type': 'application/json',
    'x-request-id': 'same',
  };
  for (const role of ['editor', 'user']) {
    const body = JSON.stringify({ role });
    await fetch(`${base}/v2/users/${user.id}/role`, { method: 'PUT', headers, body });
    await until(async () => (await app.types()).includes('token-claims-change'), 5000);
    await user.signIn(app);
  }
  const words = { current_password: PASSWORD, new_password: 'another horse battery' };
  await user.browser.submit(await user.browser.get('/account/password'), words, 'current_password');
  await setUpApp(other.browser);
  await other.browser.submit(await other.browser.get('/account'), {}, '/account/sign-out');
  for (const state of ['of the receiver', undefined])
    await call('POST', `${PATH}/verify`, app.token, { stream_id: app.id, state });
  const isComplete = async () => {
    const types = await app.types();
    return (
      [...['credential-change', 'token-claims-change'].flatMap((it) => [it, it])].every(
        (it) => types.filter((type) => type === it).length >= 2,
      ) && types.includes('session-revoked')
    );
  };
  await until(isComplete, 5000);
  return { app, tokens: Object.values((await poll(app, app.id)).sets) };
}

t.test('each event that is sent', async (t) => {
  const { app, tokens } = await signedEvents();
  const verify = setVerifier(base, app.client_id);
  const { body: metadata } = await call('GET', '/.well-known/ssf-configuration');
  const jwks = await (await fetch(String(metadata.jwks_uri))).json();
  const kids = (jwks as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
  const sets = await Promise.all(
    tokens.map(async (token) => ({ ...(await verify(token)), header: decodeProtectedHeader(token) })),
  );
  type Set = (typeof sets)[number];
  const isStream = ({ type }: Set) => type === 'verification';
  const subjectOf = ({ claims }: Set) => claims.sub_id as Record<string, string>;
  const hasReason = ({ event }: Set) => {
    const texts = Object.values((event.reason_admin ?? {}) as Record<string, string>);
    return texts.length > 0 && texts.every((text) => /^[A-Z].+\.$/.test(text));
  };
  const rows: [Section, string, (set: Set) => boolean, string?][] = [
    ['3.1', 'sub_id describes the subject', ({ claims }) => typeof claims.sub_id === 'object'],
    ['3.4', 'of a registered format', (it) => ['iss_sub', 'opaque'].includes(subjectOf(it).format ?? '')],
    ['4.1.1', 'typ is secevent+jwt', ({ header }) => header.typ === 'secevent+jwt'],
    ['4.1.2', 'there is no sub', ({ claims }) => !('sub' in claims)],
    ['4.1.6', 'iss is that of the stream', ({ claims }) => claims.iss === base],
    ['4.1.7', 'there is no exp', ({ claims }) => !('exp' in claims)],
    ['4.1.8', 'aud is that of the stream', ({ claims }) => claims.aud === app.client_id],
    ['4.1.9', 'txn is set', ({ claims }) => typeof claims.txn === 'string' && claims.txn !== ''],
    [
      '8.1.4.1',
      'the subject is the stream',
      (it) => subjectOf(it).format === 'opaque' && subjectOf(it).id === app.id,
      'verification',
    ],
    ['CAEP profile 2.3.3', 'jwks_uri has the key', ({ header }) => kids.includes(header.kid ?? '')],
    ['CAEP profile 2.5', 'a person is iss_sub', (it) => isStream(it) || subjectOf(it).format === 'iss_sub'],
    ['CAEP profile 2.6', 'RS256', ({ header }) => header.alg === 'RS256'],
    ['CAEP profile 2.8.1', 'one event', ({ claims }) => Object.keys(claims.events as object).length === 1],
    ['CAEP profile 3.1', 'reason_admin is not empty', hasReason, 'session-revoked'],
    ['CAEP profile 3.2', 'reason_admin is not empty', hasReason, 'credential-change'],
  ];
  for (const [section, requirement, holds, of] of rows) {
    const checked = sets.filter(({ type }) => of === undefined || type === of);
    t.ok(checked.length > 0);
    for (const it of checked) t.ok(holds(it), `${cite(section, requirement)}: ${it.type}`);
  }
  const states = sets.filter(isStream).map(({ event }) => event.state);
  t.same(states.sort(), ['of the receiver', undefined], cite('8.1.4.2', 'state is echoed'));
  const changes = sets.filter(({ type }) => type === 'token-claims-change').map(({ claims }) => claims.txn);
  t.equal(new Set(changes).size, 2, cite('4.1.9', 'txn is unique to the cause of the event'));
});
