import { createHmac, hkdfSync } from 'node:crypto';
import { ServiceError } from '@gatehouse/core/errors';
import { createSealer, type Sealer } from '@gatehouse/core/sealing';
import type { FastifyRequest } from 'fastify';
import { callerOf } from './authenticate.ts';
import type { JsonResponse } from './json-response.ts';

/** How long a key is remembered, in milliseconds. */
export const KEY_RETENTION_MS = 24 * 3_600_000;
const RETRY_AFTER_SECONDS = '1';

/** The error for a key whose first request is still running, or had another body. */
export function refuseKey(state: 'running' | 'reused'): ServiceError {
  return state === 'running'
    ? new ServiceError('conflict', 'A request with this Idempotency-Key is still running.', {
        headers: { 'retry-after': RETRY_AFTER_SECONDS },
      })
    : new ServiceError('idempotency_key_reused', 'This Idempotency-Key was used with another body.');
}

/** The response of an earlier request, marked as that. */
export function replayed(response: JsonResponse): JsonResponse {
  return { ...response, headers: { ...response.headers, 'idempotency-replayed': 'true' } };
}

/** The key of a request; undefined when it has none. Throws `invalid`. */
export function keyOf({ headers }: FastifyRequest): string | undefined {
  const header = headers['idempotency-key'];
  // Node joins repeated headers with a comma and a space, which is no valid key.
  if (header !== undefined && !/^[!-~]{1,255}$/.test(String(header))) {
    throw new ServiceError('invalid', 'Idempotency-Key must be 1 to 255 visible ASCII characters.');
  }
  return header === undefined ? undefined : String(header);
}

/**
 * The credential, method and path that a key belongs to. The response to one API key, or to the tokens of one person in an application, may
 * have a secret that no other credential may get.
 */
export function scopeOf(request: FastifyRequest): string {
  const { clientId, subject, person, givenBy, keyId } = callerOf(request);
  const path = request.url.split('?', 1)[0];
  return JSON.stringify([clientId, subject, person?.id, givenBy, keyId, request.method, path]);
}

/** The id that a key is stored under, the MAC key of its fingerprint, and the sealer of its response. */
export type Secrets = { id: string; mac: Buffer; sealer: Sealer };

/** Derived from the key (RFC 5869), so that the database alone discloses nothing. */
export function deriveSecrets(key: string, scope: string): Secrets {
  const bytes = Buffer.from(hkdfSync('sha256', key, scope, 'gatehouse idempotency', 96));
  return {
    id: bytes.subarray(0, 32).toString('base64url'),
    mac: bytes.subarray(32, 64),
    sealer: createSealer([bytes.subarray(64)]),
  };
}

/** A fingerprint that does not depend on the order of fields. */
export function fingerprintOf(body: unknown, { mac }: Secrets): string {
  return createHmac('sha256', mac)
    .update(JSON.stringify(sorted(body)) ?? '')
    .digest('base64url');
}

/** Sorts the fields of all objects. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  // As an array, since an object puts integer keys first in any case.
  return { fields: fields.map(([name, inner]) => [name, sorted(inner)]) };
}
