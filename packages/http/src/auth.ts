import { ServiceError } from '@gatehouse/kit/errors';
import { requestInfo } from '@gatehouse/kit/requests';
import { bearerToken } from '@gatehouse/tokens/authorization';
import type { Caller } from '@gatehouse/tokens/caller';
import type { TokenVerifier } from '@gatehouse/tokens/verifier';
import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { createRateLimiter, type RateLimiter } from './rate-limit.ts';

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
 * so that a stranger cannot make us parse anything.
 */
export function authenticate(verifier: TokenVerifier, limits?: CallLimits): onRequestAsyncHookHandler {
  return async (request, reply) => {
    const info = requestInfo(request.raw);
    let caller: Caller;
    try {
      caller = await verifier.verify(bearerToken(request.headers.authorization));
    } catch (error) {
      // When the keys cannot be had, nobody knows whether it is a stranger.
      if (limits !== undefined && error instanceof ServiceError && error.kind === 'unauthenticated') {
        reply.headers(await limits.strangers.count(info.address));
      }
      throw error;
    }
    callers.set(request, caller);
    info.client = caller.clientId;
    if (caller.subject !== caller.clientId) info.subject = caller.subject;
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
