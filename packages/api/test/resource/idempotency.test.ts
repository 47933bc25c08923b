import { v2Body } from '@gatehouse/api/http/error-bodies';
import { createApp } from '@gatehouse/api/resource/app';
import { authenticate } from '@gatehouse/api/resource/authenticate';
import { type Attempt, createIdempotency } from '@gatehouse/api/resource/idempotency';
import type { JsonResponse } from '@gatehouse/api/resource/json-response';
import { send } from '@gatehouse/api/resource/json-response';
import { ServiceError, unavailable } from '@gatehouse/core/errors';
import {
  createIdempotencyStore,
  IDEMPOTENCY_KEYS,
  type IdempotencyStore,
} from '@gatehouse/data/idempotency-store';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { createTestIssuer } from '@gatehouse/testing/test-issuer';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import { createCredentialVerifier } from '@gatehouse/tokens/credentials';
import { apiAudience } from '@gatehouse/tokens/scopes';
import { createTokenVerifier } from '@gatehouse/tokens/verifier';
import { createRevocationSet } from '@gatehouse/verify/revocations';
import t, { type Test } from 'tap';

const issuer = await createTestIssuer(t);
const ann = await issuer.person('usr_ann', 'editor', 'write:data');
const bob = await issuer.person('usr_bob', 'editor', 'write:data');
const machine = await issuer.machine('write:data');

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const SECRET = 'a very private value';

/** /v2/things and /v2/others create things, by a `run` that tests may replace. */
async function serve(t: Test, change: (store: IdempotencyStore) => IdempotencyStore = (store) => store) {
  const { logger, lines } = recordingLogger();
  const { store, connection } = await startTestDatabase(t, { define: createIdempotencyStore });
  const clock = { ahead: 0 };
  let ids = 0;
  const idempotency = createIdempotency({
    store: change(store),
    newId: () => `th_${++ids}`,
    now: () => Date.now() + clock.ahead,
  });
  const attempts: Attempt[] = [];
  const created = async ({ reservedId }: Attempt): Promise<JsonResponse> => ({
    status: 201,
    headers: { location: `/v2/things/${reservedId}` },
    text: JSON.stringify({ id: reservedId, secret: SECRET }),
  });
  const by = { run: created };

  const app = createApp({ logger, errorBodyFor: () => v2Body, translate: () => undefined });
  t.teardown(() => app.close());
  const tokens = createTokenVerifier({
    issuer: issuer.issuer,
    audience: apiAudience(issuer.issuer),
    jwksUri: `${issuer.issuer}/jwks`,
    revocations: createRevocationSet(),
  });
  const onRequest = authenticate(createCredentialVerifier({ tokens, publicUrl: issuer.issuer }));
  for (const path of ['/v2/things', '/v2/others']) {
    app.route({
      method: ['POST', 'PUT'],
      url: path,
      onRequest,
      handler: async (request, reply) => {
        const run = (attempt: Attempt) => {
          attempts.push(attempt);
          return by.run(attempt);
        };
        return send(reply, await idempotency.once(request, run));
      },
    });
  }

  type Ask = { token?: string; url?: string; method?: 'POST' | 'PUT'; body?: string };
  const post = async (key: string | undefined, ask: Ask = {}) => {
    const { token = ann, url = '/v2/things', method = 'POST', body = '{"a":1,"b":2}' } = ask;
    const response = await app.inject({
      method,
      url,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      payload: body,
    });
    return { status: response.statusCode, headers: response.headers, body: response.json() };
  };
  const keys = connection.collection<{ _id: string; answer?: string }>(IDEMPOTENCY_KEYS);
  return { post, attempts, by, clock, keys, lines, created };
}

const never = () => new Promise<JsonResponse>(() => {});

t.test('without a key every request runs', async (t) => {
  const { post, attempts, keys } = await serve(t);
  t.match(await post(undefined), { status: 201, body: { id: 'th_1' } });
  t.match(await post(undefined), { status: 201, body: { id: 'th_2' } });
  t.strictSame(attempts, [
    { reservedId: 'th_1', isRetry: false },
    { reservedId: 'th_2', isRetry: false },
  ]);
  t.equal(await keys.countDocuments(), 0);
});

t.test('with a key it runs once', async (t) => {
  const { post, attempts, clock } = await serve(t);
  const first = await post('key');
  t.match(first, { status: 201, headers: { location: '/v2/things/th_1' }, body: { id: 'th_1' } });
  t.notOk('idempotency-replayed' in first.headers);
  for (const body of ['{"a":1,"b":2}', '{ "b": 2, "a": 1 }']) {
    const repeated = await post('key', { body });
    t.equal(repeated.headers['idempotency-replayed'], 'true');
    t.match(repeated, { status: 201, headers: { location: '/v2/things/th_1' }, body: first.body });
  }
  clock.ahead = DAY - MINUTE;
  t.equal((await post('key')).headers['idempotency-replayed'], 'true', 'for a day');
  t.equal(attempts.length, 1);
  clock.ahead = DAY + MINUTE;
  t.notOk('idempotency-replayed' in (await post('key')).headers);
  t.equal(attempts.length, 2);
  t.match(attempts[1], { isRetry: false });
});

t.test('a key belongs to a credential, a method, a path, and to one body', async (t) => {
  const { post, attempts } = await serve(t);
  const owned = (more: object) =>
    issuer.sign({ sub: 'app_1', client_id: 'app_1', owner: 'usr_ann', scope: 'write:data', ...more });
  const all = [
    {},
    { token: bob },
    { token: machine },
    { token: await owned({}) },
    { token: await owned({ owner: 'usr_bob' }) },
    { token: await owned({ given_by: 'usr_bob', owner: 'usr_eve' }) },
    { token: await owned({ api_key: 'key_1' }) },
    { token: await owned({ api_key: 'key_2' }) },
    { method: 'PUT' as const },
    { url: '/v2/others' },
    { key: 'other' },
    { key: 'KEY' },
  ];
  for (const { key = 'key', ...ask } of all) {
    const { status, headers } = await post(key, ask);
    t.equal(status, 201);
    t.notOk('idempotency-replayed' in headers, JSON.stringify(Object.keys(ask)));
  }
  t.equal(attempts.length, all.length);
  t.match((await post('key', { url: '/v2/things?x=1' })).headers, { 'idempotency-replayed': 'true' });
  const anew = await issuer.person('usr_ann', 'editor', 'write:data');
  t.not(anew, ann);
  t.match(
    (await post('key', { token: anew })).headers,
    { 'idempotency-replayed': 'true' },
    'a refreshed token',
  );
  for (const body of ['{"a":2,"b":2}', '{"a":1}', '{"a":"1","b":2}', '{"a":1,"b":[2]}', '[]', 'null', '']) {
    t.match(await post('key', { body }), {
      status: 422,
      body: { error: { code: 'idempotency_key_reused' } },
    });
  }
  t.equal(attempts.length, all.length);
});

t.test('bodies with different fingerprints', async (t) => {
  const { post } = await serve(t);
  const bodies = [
    '{"a":[1,2]}',
    '{"a":[2,1]}',
    '{"a":{"fields":[]}}',
    '{"a":{}}',
    '{"a":[]}',
    '{"a":null}',
    '{}',
  ];
  for (const [i, body] of bodies.entries()) {
    t.equal((await post(`key${i}`, { body })).status, 201);
    for (const [j, other] of bodies.entries()) {
      t.equal((await post(`key${i}`, { body: other })).status, i === j ? 201 : 422, `${body} ${other}`);
    }
  }
  t.equal((await post('deep', { body: '{"a":{"2":1,"b":2},"c":1}' })).status, 201);
  t.equal((await post('deep', { body: '{"c":1,"a":{"b":2,"2":1}}' })).status, 201);
});

t.test('while an attempt runs, others conflict', async (t) => {
  const { post, by, created } = await serve(t);
  const go = Promise.withResolvers<void>();
  const running = Promise.withResolvers<void>();
  by.run = async (attempt) => {
    running.resolve();
    await go.promise;
    return created(attempt);
  };
  const first = post('key');
  await running.promise;
  const second = await post('key');
  t.match(second, { status: 409, body: { error: { code: 'conflict' } } });
  t.equal(second.headers['retry-after'], '1');
  t.equal((await post('key', { body: '{}' })).status, 422);
  go.resolve();
  t.match(await first, { status: 201, body: { id: 'th_1' } });
  t.match(await post('key'), { status: 201, body: { id: 'th_1' } });
});

t.test('many at once: one runs', async (t) => {
  const { post, attempts } = await serve(t);
  const responses = await Promise.all(Array.from({ length: 30 }, () => post('key')));
  t.equal(attempts.length, 1);
  const [id] = responses.filter(({ status }) => status === 201).map(({ body }) => body.id);
  for (const { status, body } of responses) {
    t.ok(status === 409 || body.id === id, `${status}`);
  }
});

t.test('after an attempt that died, the next one is a retry', async (t) => {
  const { post, by, attempts, clock, created } = await serve(t);
  by.run = never;
  void post('key').catch(() => {});
  while (attempts.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  by.run = created;
  clock.ahead = MINUTE - 5000;
  t.equal((await post('key')).status, 409);
  clock.ahead = MINUTE;
  const { status, body } = await post('key');
  t.equal(status, 201);
  t.strictSame(attempts, [
    { reservedId: body.id, isRetry: false },
    { reservedId: body.id, isRetry: true },
  ]);
  t.match(await post('key'), { headers: { 'idempotency-replayed': 'true' }, body: { id: body.id } });
  t.equal(attempts.length, 2);
});

t.test('a rejected request releases the key', async (t) => {
  const { post, by, attempts, created, keys } = await serve(t);
  by.run = async () => {
    throw new ServiceError('conflict', 'This name is taken.');
  };
  t.equal((await post('key')).status, 409);
  by.run = async () => ({ status: 400, headers: {}, text: '{"error":{}}' });
  t.equal((await post('key', { body: '{}' })).status, 400, 'also for another body');
  t.equal(await keys.countDocuments(), 0);
  by.run = created;
  t.equal((await post('key')).status, 201);
  t.ok(attempts.every(({ isRetry }) => !isRetry));
});

t.test('after a server error, the next attempt is a retry', async (t) => {
  const { post, by, attempts, created } = await serve(t);
  const failures: (() => Promise<JsonResponse>)[] = [
    () => Promise.reject(unavailable('Away.')),
    () => Promise.reject(new Error('broken')),
    async () => ({ status: 503, headers: {}, text: '{}' }),
  ];
  for (const run of failures) {
    by.run = run;
    t.ok((await post('key')).status >= 500);
  }
  t.equal((await post('key', { body: '{}' })).status, 422, 'something may have come of it');
  by.run = created;
  t.equal((await post('key')).status, 201);
  const [first] = attempts;
  t.strictSame(
    attempts.slice(1),
    Array(3).fill({ reservedId: first?.reservedId, isRetry: true }),
    'with one id all the time, at once',
  );
});

t.test('a store that fails after the creation', async (t) => {
  const broken = new Error('the store is away');
  const { post, by, lines } = await serve(t, (store) => ({
    ...store,
    complete: () => Promise.reject(broken),
    release: () => Promise.reject(broken),
  }));
  t.equal((await post('key')).status, 201, 'the caller gets the answer');
  t.match(
    lines.filter(({ level }) => level === 'warn'),
    [{ msg: 'an answer was not kept', err: { message: 'the store is away' } }],
  );
  by.run = async () => {
    throw new ServiceError('conflict', 'This name is taken.');
  };
  t.match(await post('other'), { status: 409, body: { error: { message: 'This name is taken.' } } });
  t.match(lines.at(-1), { level: 'warn', msg: 'an idempotency key was not released' });
});

t.test('malformed keys', async (t) => {
  const { post, attempts } = await serve(t);
  for (const key of ['', ' ', 'a b', 'a, a', 'ä', 'a\tb', 'x'.repeat(256)]) {
    t.match(await post(key), { status: 400, body: { error: { code: 'invalid_parameter' } } }, key);
  }
  t.equal(attempts.length, 0);
  for (const key of ['1', '"8e03978e-40d5-43dd-bc93-6894a57f9324"', '!~', 'x'.repeat(255)]) {
    t.equal((await post(key)).status, 201, key);
  }
});

t.test('the database contains no plain text', async (t) => {
  const { post, keys } = await serve(t);
  await post('my-key', { body: '{"password":"hunter2hunter2"}' });
  const [stored] = await keys.find().toArray();
  t.match(stored?._id, /^[\w-]{43}$/);
  t.strictSame(Object.keys(stored ?? {}).sort(), [
    '_id',
    'answer',
    'expires_at',
    'fingerprint',
    'holder',
    'lease_until',
    'reserved_id',
  ]);
  const text = `${JSON.stringify(stored)} ${Buffer.from(stored?.answer ?? '', 'base64').toString('latin1')}`;
  for (const hidden of ['my-key', 'hunter2', SECRET, 'usr_ann', '/v2/things', 'location']) {
    t.notOk(text.includes(hidden), hidden);
  }
  const other = await post('other', { body: '{"password":"hunter2hunter2"}' });
  t.equal(other.status, 201);
  const [one, two] = await keys.find<{ fingerprint: string }>({}).toArray();
  t.not(one?.fingerprint, two?.fingerprint, 'of the same body');

  // A response of another key, or one that was changed, does not open.
  const before = stored?.answer ?? '';
  const bytes = Buffer.from(before, 'base64');
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  await keys.updateOne({ _id: stored?._id ?? '' }, { $set: { answer: bytes.toString('base64') } });
  const changed = await post('my-key', { body: '{"password":"hunter2hunter2"}' });
  t.equal(changed.status, 500);
});
