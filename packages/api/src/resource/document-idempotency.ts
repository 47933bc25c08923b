import { ServiceError } from '@gatehouse/core/errors';
import type { EarlierCreation, IdempotencyKey } from '@gatehouse/domain/idempotency-key';
import type { FastifyRequest } from 'fastify';
import {
  deriveSecrets,
  fingerprintOf,
  KEY_RETENTION_MS,
  keyOf,
  refuseKey,
  replayed,
  scopeOf,
} from './idempotency-key.ts';
import type { JsonResponse } from './json-response.ts';

/**
 * Safe retries of requests whose Idempotency-Key is stored in the document that they create, under a unique index
 * (draft-ietf-httpapi-idempotency-key-header): the key is taken by the write that creates the document, and by nothing else,
 * so that a process that dies leaves no lock behind. For 24 hours the same caller, method, path, body and key get the response
 * of the first request, which is rendered again from what it created. A refused request creates nothing, hence its key is free.
 *
 * To be called after authorization and validation. Besides the errors of `create`, it throws `invalid` for a malformed key,
 * `idempotency_key_reused` when the key was used with another body, and `conflict` with Retry-After while another request
 * with it is running.
 *
 * @param options.findByKey finds what was created with a key
 * @param options.create stores the key in what it creates; throws a ServiceError when the key has been taken meanwhile
 */
export async function createOnce<T>(
  request: FastifyRequest,
  options: {
    findByKey(key: IdempotencyKey): Promise<EarlierCreation<T> | undefined>;
    create(key: IdempotencyKey | undefined): Promise<T>;
    response(created: T): JsonResponse;
  },
): Promise<JsonResponse> {
  const { findByKey, create, response } = options;
  const text = keyOf(request);
  if (text === undefined) return response(await create(undefined));
  const secrets = deriveSecrets(text, scopeOf(request));
  const fingerprint = fingerprintOf(request.body, secrets);
  const key = { id: secrets.id, fingerprint, expiresAt: new Date(Date.now() + KEY_RETENTION_MS) };

  async function earlier(): Promise<JsonResponse | undefined> {
    const found = await findByKey(key);
    if (found === undefined) return undefined;
    if (found.state !== 'done') throw refuseKey(found.state);
    return replayed(response(found.created));
  }

  const before = await earlier();
  if (before !== undefined) return before;
  try {
    return response(await create(key));
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status >= 500) throw error;
    // Another request with this key may have been faster, and may have caused the error: it took the key, or the last piece.
    const meanwhile = await earlier();
    if (meanwhile !== undefined) return meanwhile;
    throw error;
  }
}
