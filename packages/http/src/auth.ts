import { ServiceError } from '@gatehouse/kit/errors';
import { requestInfo } from '@gatehouse/kit/requests';
import type { Caller } from '@gatehouse/tokens/caller';
import type { CredentialVerifier } from '@gatehouse/tokens/credentials';
import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { addressKey, createRateLimiter, type RateLimiter } from './rate-limit.ts';

const callers = new WeakMap<FastifyRequest, Caller>();

/** Quotas of a service: one for each credential, and one for each address that shows none that holds. */
export type CallLimits = { callers: RateLimiter; strangers: RateLimiter };

export function createCallLimits(): CallLimits {
  return {
    callers: createRateLimiter({ name: 'credential', quota: 6000, seconds: 60 }),
    strangers: createRateLimiter({ name: 'address', quota: 300, seconds: 60 }),
  };
}

/**
 * The hook that makes a route need a credential, and counts its requests. It runs before the body is read,
 * so that a stranger cannot make us parse anything. From an address whose strangers have used up their quota,
 * only credentials that are known already are taken: a new one is not even checked.
 */
export function authenticate(
  credentials: CredentialVerifier,
  limits?: CallLimits,
): onRequestAsyncHookHandler {
  return async (request, reply) => {
    const info = requestInfo(request.raw);
    const { authorization, dpop } = request.headers;
    const shown = {
      authorization,
      // Node joins repeated ones to one text; a list is only possible by its types.
      dpop: dpop === undefined ? undefined : String(dpop),
      method: request.method,
      path: request.url,
    };
    let caller: Caller;
    try {
      caller = await credentials.verify(
        shown,
        limits && (() => limits.strangers.check(addressKey(info.address))),
      );
    } catch (error) {
      // When the keys cannot be had, nobody knows whether it is a stranger.
      if (limits !== undefined && error instanceof ServiceError && error.kind === 'unauthenticated') {
        reply.headers(await limits.strangers.count(addressKey(info.address)));
      }
      throw error;
    }
    callers.set(request, caller);
    info.client = caller.clientId;
    if (caller.subject !== caller.clientId) info.subject = caller.subject;
    // All API keys and tokens of an application, as far as no person is signed in, count together.
    if (limits !== undefined)
      reply.headers(await limits.callers.count(`${caller.clientId} ${caller.subject}`));
  };
}

/** Who makes this request. Throws when the route was mounted without the authenticate hook. */
export function callerOf(request: FastifyRequest): Caller {
  const caller = callers.get(request);
  if (caller === undefined) throw new Error('this route has no authenticate hook');
  return caller;
}
