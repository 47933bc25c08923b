import { type ErrorBody, plainBody, upperCaseCodeBody, v2Body } from '@gatehouse/api/http/error-bodies';
import { type ErrorKind, ServiceError, STATUS_OF_KIND } from '@gatehouse/core/errors';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';

const CODES: Record<ErrorKind, [status: number, upper: string, v2: string]> = {
  invalid: [400, 'INVALID_INPUT', 'invalid_parameter'],
  unauthenticated: [401, 'UNAUTHORIZED', 'unauthorized'],
  forbidden: [403, 'FORBIDDEN', 'forbidden'],
  not_found: [404, 'NOT_FOUND', 'not_found'],
  method_not_allowed: [405, 'METHOD_NOT_ALLOWED', 'method_not_allowed'],
  timeout: [408, 'REQUEST_TIMEOUT', 'request_timeout'],
  conflict: [409, 'CONFLICT', 'conflict'],
  precondition_failed: [412, 'PRECONDITION_FAILED', 'precondition_failed'],
  too_large: [413, 'PAYLOAD_TOO_LARGE', 'payload_too_large'],
  unsupported_media_type: [415, 'UNSUPPORTED_MEDIA_TYPE', 'unsupported_media_type'],
  idempotency_key_reused: [422, 'IDEMPOTENCY_KEY_REUSED', 'idempotency_key_reused'],
  rate_limited: [429, 'rate_limited', 'rate_limited'],
  internal: [500, 'INTERNAL_ERROR', 'server_error'],
  unavailable: [503, 'UNAVAILABLE', 'unavailable'],
};

t.test('status and code of every kind', async (t) => {
  t.strictSame(Object.keys(CODES), Object.keys(STATUS_OF_KIND));
  for (const [kind, [status, upper, v2]] of Object.entries(CODES)) {
    const error = new ServiceError(kind as ErrorKind, 'Why.');
    t.equal(error.status, status, kind);
    t.strictSame(upperCaseCodeBody.write(error), { error: { code: upper, message: 'Why.' } }, kind);
    t.strictSame(v2Body.write(error), { error: { code: v2, message: 'Why.' } }, kind);
    const plain = kind === 'rate_limited' ? 'rate_limited' : 'Why.';
    t.strictSame(plainBody.write(error), { error: plain }, kind);
  }
});

t.test('details are in the shape of /v2 only; causes and headers in none', async (t) => {
  const details = [{ field: 'a', message: 'is bad' }];
  const error = new ServiceError('invalid', 'Why.', {
    details,
    headers: { 'retry-after': '1' },
    cause: new Error('hidden'),
  });
  const write = (body: ErrorBody) => JSON.parse(JSON.stringify(body.write(error)));
  t.strictSame(write(upperCaseCodeBody), { error: { code: 'INVALID_INPUT', message: 'Why.' } });
  t.strictSame(write(v2Body), { error: { code: 'invalid_parameter', message: 'Why.', details } });
  t.strictSame(write(plainBody), { error: 'Why.' });
});

t.test('the schemas are of what is written, and of nothing else', async (t) => {
  const ajv = new Ajv2020({ strictTypes: false });
  for (const body of [upperCaseCodeBody, v2Body, plainBody]) {
    const { title = '' } = body.schema as { title?: string };
    t.match(title, /^ApiError\w*$/, 'a name for documents, which is not that of the global Error');
    const holds = ajv.compile(body.schema);
    for (const kind of Object.keys(STATUS_OF_KIND) as ErrorKind[]) {
      const details = [{ field: 'a', message: 'is bad' }];
      for (const error of [new ServiceError(kind, 'Why.'), new ServiceError(kind, 'Why.', { details })]) {
        t.ok(holds(body.write(error)), `${title} ${kind}`);
      }
    }
    const written = body.write(new ServiceError('invalid', 'Why.'));
    t.notOk(holds({ ...written, more: 1 }), 'closed');
    t.notOk(holds({}));
    const inner = Object(written.error);
    if (body === plainBody) continue;
    t.notOk(holds({ error: { ...inner, more: 1 } }), 'closed inside');
    t.notOk(holds({ error: { ...inner, code: 'other' } }), 'the codes are listed');
    t.notOk(holds({ error: { ...inner, details: [{ field: 'a', message: 'b', more: 1 }] } }));
  }
});
