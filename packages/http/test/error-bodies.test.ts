import { type ErrorBody, upperCaseCodeBody, v2Body } from '@gatehouse/http/error-bodies';
import { type ErrorKind, ServiceError, STATUS_OF_KIND } from '@gatehouse/kit/errors';
import t from 'tap';

const CODES: Record<ErrorKind, [status: number, upper: string, v2: string]> = {
  invalid: [400, 'INVALID_INPUT', 'invalid_parameter'],
  unauthenticated: [401, 'UNAUTHORIZED', 'unauthorized'],
  forbidden: [403, 'FORBIDDEN', 'forbidden'],
  not_found: [404, 'NOT_FOUND', 'not_found'],
  method_not_allowed: [405, 'METHOD_NOT_ALLOWED', 'method_not_allowed'],
  conflict: [409, 'CONFLICT', 'conflict'],
  precondition_failed: [412, 'PRECONDITION_FAILED', 'precondition_failed'],
  too_large: [413, 'PAYLOAD_TOO_LARGE', 'payload_too_large'],
  unsupported_media_type: [415, 'UNSUPPORTED_MEDIA_TYPE', 'unsupported_media_type'],
  rate_limited: [429, 'rate_limited', 'rate_limited'],
  internal: [500, 'INTERNAL_ERROR', 'server_error'],
  unavailable: [503, 'UNAVAILABLE', 'unavailable'],
};

t.test('status and code of every kind', async (t) => {
  t.strictSame(Object.keys(CODES), Object.keys(STATUS_OF_KIND));
  for (const [kind, [status, upper, v2]] of Object.entries(CODES)) {
    const error = new ServiceError(kind as ErrorKind, 'Why.');
    t.equal(error.status, status, kind);
    t.strictSame(upperCaseCodeBody(error), { error: { code: upper, message: 'Why.' } }, kind);
    t.strictSame(v2Body(error), { error: { code: v2, message: 'Why.' } }, kind);
  }
});

t.test('details are in the shape of /v2 only; causes and headers in none', async (t) => {
  const details = [{ field: 'a', message: 'is bad' }];
  const error = new ServiceError('invalid', 'Why.', {
    details,
    headers: { 'retry-after': '1' },
    cause: new Error('hidden'),
  });
  const write = (body: ErrorBody) => JSON.parse(JSON.stringify(body(error)));
  t.strictSame(write(upperCaseCodeBody), { error: { code: 'INVALID_INPUT', message: 'Why.' } });
  t.strictSame(write(v2Body), { error: { code: 'invalid_parameter', message: 'Why.', details } });
});
