import { until } from '@gatehouse/testing/processes';
import t, { type Test } from 'tap';
import { build, type JsonResponse } from '../build.ts';

const ALL = 'read:users write:users';
const PREFIXES = ['/v1/users', '/v2/users', '/api/v1/users', '/users', '/kb/api/v1/users'] as const;
type Prefix = (typeof PREFIXES)[number];

/** Codes by status, in the two shapes that have them; a text alone in profile C. */
const UPPER: Record<number, string> = {
  400: 'INVALID_INPUT',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  409: 'CONFLICT',
  412: 'PRECONDITION_FAILED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  422: 'IDEMPOTENCY_KEY_REUSED',
  429: 'rate_limited',
  503: 'UNAVAILABLE',
};
const V2: Record<number, string> = {
  400: 'invalid_parameter',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'conflict',
  412: 'precondition_failed',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  422: 'idempotency_key_reused',
  429: 'rate_limited',
  503: 'unavailable',
};

/** The response is an error as the profile writes it, and says nothing else. */
function assertError(
  t: Test,
  { status, body, headers }: JsonResponse,
  expected: number,
  shape: 'upper' | 'v2' | 'plain',
  what: string,
): void {
  t.equal(status, expected, what);
  t.equal(headers.get('content-type'), 'application/json; charset=utf-8', what);
  t.equal(headers.get('cache-control'), 'no-store', what);
  t.same(Object.keys(body ?? {}), ['error'], what);
  const { error } = body;
  if (shape === 'plain') {
    t.type(error, 'string', what);
    if (expected === 429) t.equal(error, 'rate_limited');
    return;
  }
  const codes = shape === 'v2' ? V2 : UPPER;
  t.equal(error.code, codes[expected], what);
  t.type(error.message, 'string', what);
  const others = Object.keys(error).filter((key) => key !== 'code' && key !== 'message');
  t.same(others, shape === 'v2' && error.details !== undefined ? ['details'] : [], what);
}

/** How errors of creating, listing and reading are written under a prefix. */
const SHAPES: Record<Prefix, 'upper' | 'v2' | 'plain'> = {
  '/v1/users': 'upper',
  '/v2/users': 'v2',
  '/api/v1/users': 'plain',
  '/users': 'upper',
  '/kb/api/v1/users': 'upper',
};
/** What D lacks falls to v2, and so do its errors. */
const shapeOfOne = (prefix: Prefix) => (prefix === '/users' ? 'v2' : SHAPES[prefix]);

t.test('every kind of error in every profile', async (t) => {
  const { issuer, call, base } = await build(t);
  const machine = await issuer.machine(ALL);
  const weak = await issuer.machine('openid');
  const password = 'correct horse';
  const person = (username: string, prefix = '/v1/users') =>
    prefix === '/users' ? { name: username } : { username, email: `${username}@example.org`, password };
  await call('POST', '/v1/users', machine, person('taken'));
  const { body: somebody } = await call('POST', '/v1/users', machine, person('somebody'));

  for (const prefix of PREFIXES) {
    const shape = SHAPES[prefix];
    const check = (response: JsonResponse, status: number, what: string, as = shape) =>
      assertError(t, response, status, as, `${prefix}: ${what}`);
    check(await call('GET', `${prefix}?limit=0`, machine), 400, 'a bad query');
    check(await call('POST', prefix, machine, {}), 400, 'an empty body');
    check(await call('POST', prefix, machine, '{'), 400, 'no JSON');
    check(await call('POST', prefix, machine, '[]'), 400, 'a list');
    check(await call('GET', prefix, undefined), 401, 'no token');
    check(await call('POST', prefix, 'nonsense', {}), 401, 'a bad token');
    check(await call('GET', prefix, weak), 403, 'no scope');
    check(await call('POST', prefix, undefined, '{'), 401, 'no token, whatever the body is');
    check(await call('POST', prefix, weak, '{'), 403, 'no scope, whatever the body is');
    check(await call('GET', `${prefix}/x/y/z`, machine), 404, 'nothing there');
    check(await call('PATCH', prefix, machine, {}), 405, 'no such method');
    if (prefix !== '/users')
      check(await call('POST', prefix, machine, person('taken', prefix)), 409, 'taken');
    check(await call('POST', prefix, machine, `{"name":"${'x'.repeat(300_000)}"}`), 413, 'too large');
    check(
      await call('POST', prefix, machine, 'name=x', { 'content-type': 'application/x-www-form-urlencoded' }),
      415,
      'a form',
    );
    const key = { 'idempotency-key': `errors ${prefix}`.replace(' ', '-') };
    const first = prefix.replaceAll('/', '');
    t.equal((await call('POST', prefix, machine, person(`${first}1`, prefix), key)).status, 201);
    check(
      await call('POST', prefix, machine, person(`${first}2`, prefix), key),
      422,
      'a key used for something else',
    );

    if (prefix !== '/kb/api/v1/users') {
      for (const id of [
        'usr_missing',
        'x'.repeat(500),
        '%20',
        '%00',
        "'; drop",
        '[object Object]',
        '..%2f..%2fetc',
      ])
        check(await call('GET', `${prefix}/${id}`, machine), 404, `no user ${id}`);
    }
    if (prefix === '/v1/users' || prefix === '/v2/users' || prefix === '/users') {
      const as = shapeOfOne(prefix);
      const path = `${prefix}/${somebody.id}`;
      const stale = { 'if-match': '"v99"' };
      check(await call('PUT', path, machine, {}, stale), 412, 'another version', as);
      check(await call('DELETE', path, machine, undefined, stale), 412, 'another version', as);
      check(await call('PUT', path, machine, { username: 'taken' }), 409, 'taken', as);
      check(await call('PUT', path, machine, '{'), 400, 'no JSON', as);
      check(await call('PUT', path, undefined, {}), 401, 'no token', as);
      check(await call('PUT', path, weak, {}), 403, 'no scope', as);
      check(await call('PUT', path, undefined, '{'), 401, 'no token, whatever the body is', as);
      check(await call('PUT', path, weak, '{'), 403, 'no scope, whatever the body is', as);
      check(await call('DELETE', `${prefix}/usr_missing`, machine), 404, 'no such user', as);
      const long = `${prefix}/${'x'.repeat(8000)}`;
      check(await call('PUT', long, undefined, {}), 401, 'a very long id, no token', as);
      check(await call('PUT', long, machine, {}), 404, 'a very long id', as);
      check(await call('DELETE', long, machine), 404, 'a very long id', as);
      for (const [field, value] of [
        ['password', { new_password: 1 }],
        ['role', { role: 'owner' }],
        ['status', { status: 'asleep' }],
      ] as const) {
        check(await call('PUT', `${path}/${field}`, machine, value), 400, field, as);
        check(await call('PUT', `${path}/${field}`, weak, value), 403, field, as);
        check(await call('PUT', `${path}/${field}`, undefined, '{'), 401, field, as);
        check(await call('PUT', `${path}/${field}`, weak, '{'), 403, field, as);
      }
    }
  }
  t.equal(
    (await fetch(`${base}/v1/users`)).headers.get('x-request-id')?.length,
    30,
    'errors have a request id',
  );
});

t.test('too many requests', async (t) => {
  const { call } = await build(t, { rateLimit: 'on' });
  // All of the same address, until its quota is used up.
  for (let i = 0; i < 300; i += 1) await call('GET', '/v1/users', undefined);
  for (const prefix of PREFIXES) {
    const response = await call('GET', prefix, 'nonsense');
    assertError(t, response, 429, SHAPES[prefix], prefix);
    t.ok(Number(response.headers.get('retry-after')) > 0, prefix);
  }
});

t.test('without revocation data no credential is accepted', async (t) => {
  const { call, issuer, identity } = await build(t, { identityIsAway: true });
  const token = await issuer.machine(ALL);
  for (const prefix of PREFIXES) {
    const response = await call('GET', prefix, token);
    assertError(t, response, 503, SHAPES[prefix], prefix);
    t.ok(Number(response.headers.get('retry-after')) > 0, prefix);
  }
  const ready = () => call('GET', '/health/ready', undefined);
  await until(async () => /revocations/.test(JSON.stringify((await ready()).body)), 10_000);
  t.equal((await ready()).status, 503);
  t.equal((await call('GET', '/v1/users', undefined)).status, 401);
  identity.comeBack();
  await until(async () => (await ready()).status === 200, 10_000);
  t.equal((await call('GET', '/v1/users', token)).status, 200);
});
