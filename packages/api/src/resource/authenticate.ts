import type { Caller } from '@gatehouse/tokens/caller';
import type { CredentialVerifier } from '@gatehouse/tokens/credentials';
import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { type CallLimits, identifyCaller } from '../http/identify-caller.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the authenticate hook; read it with callerOf(). */
    caller: Caller | undefined;
  }
}

/**
 * A hook that requires a credential. It runs before the body is read, so that unauthenticated callers cannot make the
 * service parse anything.
 */
export function authenticate(
  credentials: CredentialVerifier,
  limits?: CallLimits,
): onRequestAsyncHookHandler {
  return async (request, reply) => {
    const setHeaders = (headers: Record<string, string>) => void reply.headers(headers);
    request.caller = await identifyCaller(request.raw, { credentials, limits, setHeaders });
  };
}

/** The caller of a request. Throws when the route was mounted without the authenticate hook. */
export function callerOf(request: FastifyRequest): Caller {
  const { caller } = request;
  if (caller === undefined) throw new Error('this route has no authenticate hook');
  return caller;
}
