import type { IncomingMessage } from 'node:http';
import { ServiceError } from '@gatehouse/kit/errors';
import { requestInfo } from '@gatehouse/kit/requests';
import type { Caller } from '@gatehouse/tokens/caller';
import type { CredentialVerifier } from '@gatehouse/tokens/credentials';
import { addressKey, createRateLimiter, type RateLimiter } from './rate-limit.ts';

/** Quotas of a service: one for each credential, and one for each address that shows none that holds. */
export type CallLimits = { callers: RateLimiter; strangers: RateLimiter };

export function createCallLimits(): CallLimits {
  return {
    callers: createRateLimiter({ name: 'credential', quota: 6000, seconds: 60 }),
    strangers: createRateLimiter({ name: 'address', quota: 300, seconds: 60 }),
  };
}

/**
 * Who makes a request, by the credential in its headers; counts it, and notes the caller for the log. From an address
 * whose strangers have used up their quota, only credentials that are known already are taken: a new one is not even
 * checked. `setHeaders` gets what tells the caller where it stands. Throws as the verifier does, and `rate_limited`.
 */
export async function identifyCaller(
  request: IncomingMessage,
  options: {
    credentials: CredentialVerifier;
    limits?: CallLimits | undefined;
    setHeaders(headers: Record<string, string>): void;
  },
): Promise<Caller> {
  const { credentials, limits, setHeaders } = options;
  const info = requestInfo(request);
  const { authorization, dpop } = request.headers;
  const shown = {
    authorization,
    // Node joins repeated ones to one text; a list is only possible by its types.
    dpop: dpop === undefined ? undefined : String(dpop),
    method: request.method ?? '',
    path: request.url ?? '',
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
      setHeaders(await limits.strangers.count(addressKey(info.address)));
    }
    throw error;
  }
  info.client = caller.clientId;
  if (caller.subject !== caller.clientId) info.subject = caller.subject;
  // All API keys and tokens of an application, as far as no person is signed in, count together.
  if (limits !== undefined) setHeaders(await limits.callers.count(`${caller.clientId} ${caller.subject}`));
  return caller;
}
