import { randomUUID } from 'node:crypto';
import { ServiceError } from '@gatehouse/core/errors';
import type { IdempotencyStore } from '@gatehouse/data/idempotency-store';
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

/** How long an attempt may run before another may take over its key. */
const LEASE_MS = 60_000;

/** One attempt at a request. */
export type Attempt = {
  /** The id for the new resource: the same in all attempts with the same key. */
  reservedId: string;
  /** Whether an earlier attempt may have created the resource and failed before it answered. */
  isRetry: boolean;
};

export type Idempotency = {
  /**
   * Runs a request that creates something, or returns the response of an earlier attempt with the same Idempotency-Key.
   * To be called after authorization and validation. Besides the errors of `run`, it throws `invalid` for a malformed
   * key, `idempotency_key_reused` when the key was used with another body, and `conflict` with Retry-After while
   * another attempt is running.
   */
  once(request: FastifyRequest, run: (attempt: Attempt) => Promise<JsonResponse>): Promise<JsonResponse>;
};

/**
 * Safe retries of requests that create something (draft-ietf-httpapi-idempotency-key-header): for 24 hours, the same
 * caller, method, path, body and Idempotency-Key get the response of the first attempt. If an attempt dies, with its process
 * for example, its key is blocked for at most 60 s, and the next attempt runs with `isRetry`. Only successful answers are
 * kept: a rejected request may be corrected and sent again with the same key.
 *
 * @param options.newId makes the ids of new resources
 * @param options.now the time in milliseconds
 */
export function createIdempotency(options: {
  store: IdempotencyStore;
  newId: () => string;
  now?: () => number;
}): Idempotency {
  const { store, newId, now = Date.now } = options;
  const after = (ms: number) => new Date(now() + ms);

  return {
    async once(request, run) {
      const key = keyOf(request);
      if (key === undefined) return await run({ reservedId: newId(), isRetry: false });
      const secrets = deriveSecrets(key, scopeOf(request));
      const { id, sealer } = secrets;
      const holder = randomUUID();
      const claim = await store.claim({
        id,
        fingerprint: fingerprintOf(request.body, secrets),
        holder,
        reservedId: newId(),
        now: after(0),
        leaseUntil: after(LEASE_MS),
        expiresAt: after(KEY_RETENTION_MS),
      });
      if (claim.state === 'done')
        return replayed(JSON.parse(sealer.open(claim.response, id)) as JsonResponse);
      if (claim.state !== 'claimed') throw refuseKey(claim.state);

      const release = (forget: boolean) =>
        store.release({ id, holder, now: after(0), forget }).catch((error: unknown) => {
          request.log.warn({ err: error, req_id: request.id }, 'an idempotency key was not released');
        });
      const { reservedId, isRetry } = claim;
      let response: JsonResponse;
      try {
        response = await run({ reservedId, isRetry });
      } catch (error) {
        // After a client error nothing was created. After a server error something may have been, so a retry has to check.
        await release(error instanceof ServiceError && error.status < 500);
        throw error;
      }
      if (response.status < 200 || response.status >= 300) {
        await release(response.status < 500);
        return response;
      }
      await store
        .complete({
          id,
          holder,
          response: sealer.seal(JSON.stringify(response), id),
          expiresAt: after(KEY_RETENTION_MS),
        })
        .catch((error: unknown) => {
          // The resource exists: a retry after the lease finds it.
          request.log.warn({ err: error, req_id: request.id }, 'an answer was not kept');
        });
      return response;
    },
  };
}
