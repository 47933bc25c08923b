import type { IncomingMessage } from 'node:http';
import { ServiceError } from '@gatehouse/core/errors';
import { pathOf } from '@gatehouse/server/request-path';
import { requestInfo } from '@gatehouse/server/requests';
import { type Caller, isFirstParty } from '@gatehouse/tokens/caller';
import type { CredentialVerifier } from '@gatehouse/tokens/credentials';
import { requireDeployerRequest } from './deployer-requests.ts';
import {
  type AddressLimiter,
  countAll,
  createAddressLimiter,
  createRateLimiter,
  type RateLimiter,
} from './rate-limit.ts';
import type { RateLimitStore } from './rate-limit-store.ts';
import { checkAfterBody } from './request-body.ts';

/**
 * Authenticated requests are counted by client and subject, and by the person of personKey(); unauthenticated ones by
 * address.
 */
export type CallLimits = {
  authenticated: RateLimiter;
  person: RateLimiter;
  unauthenticated: AddressLimiter;
};

/** The requests that an application, with or without a person, may send to a service. */
export const CREDENTIAL_POLICY = { name: 'credential', quota: 6000, seconds: 60 };

/** Counts in `shared` for all replicas; without it, each counts by itself. */
export function createCallLimits(shared?: RateLimitStore): CallLimits {
  return {
    authenticated: createRateLimiter(CREDENTIAL_POLICY, shared),
    // As much as two credentials.
    person: createRateLimiter({ name: 'person', quota: 12_000, seconds: 60 }, shared),
    unauthenticated: createAddressLimiter({ name: 'address', quota: 300, seconds: 60 }, shared),
  };
}

/**
 * Verifies the credential in a request's headers, counts the request, and notes the caller for the log. From an address
 * that has used up its quota of unauthenticated requests, only cached credentials are accepted: others are not even
 * verified. `setHeaders` gets the rate limit headers. Throws what the verifier throws, `rate_limited`, and `forbidden` for a deployer that asks for more than it may. Of a request
 * with a body, readBody() checks the credential again, so that what was revoked meanwhile writes nothing.
 */
export async function identifyCaller(
  request: IncomingMessage,
  options: {
    credentials: Pick<CredentialVerifier, 'verify' | 'recheck'>;
    limits?: CallLimits | undefined;
    /** In place of the Authorization header. */
    authorization?: string | undefined;
    setHeaders(headers: Record<string, string>): void;
  },
): Promise<Caller> {
  const { credentials, limits, setHeaders } = options;
  const info = requestInfo(request);
  const { dpop } = request.headers;
  const credential = {
    authorization: options.authorization ?? request.headers.authorization,
    // Node joins repeated headers into one string; only its types allow a list.
    dpop: dpop === undefined ? undefined : String(dpop),
    method: request.method ?? '',
    path: request.url ?? '',
    address: info.address,
  };
  let caller: Caller;
  try {
    caller = await credentials.verify(
      credential,
      limits && (() => limits.unauthenticated.check(info.address)),
    );
  } catch (error) {
    // Other errors, such as keys that cannot be fetched, do not show that the credential is invalid.
    if (limits !== undefined && error instanceof ServiceError && error.kind === 'unauthenticated') {
      setHeaders(await limits.unauthenticated.count(info.address));
    }
    throw error;
  }
  info.client = caller.clientId;
  info.keyId = caller.keyId;
  info.credential = credential.authorization?.trimEnd().slice(-4);
  if (caller.subject !== caller.clientId) info.subject = caller.subject;
  info.actors = caller.actors;
  // An application's API keys, and its tokens without a person, share one quota. A service that reads for them works at its own pace, and
  // must not use up the quota.
  if (limits !== undefined && caller.actor === undefined) {
    const { clientId, subject, actors = [] } = caller;
    const person = personKey(caller);
    setHeaders(
      await countAll([
        { limiter: limits.authenticated, key: [clientId, subject, ...actors].join(' ') },
        ...(person === undefined ? [] : [{ limiter: limits.person, key: person }]),
      ]),
    );
  }
  requireDeployerRequest(caller, credential.method, pathOf(credential.path));
  checkAfterBody(request, () => credentials.recheck(credential.authorization, caller));
  return caller;
}

/**
 * The person who uses Gatehouse itself, or who made the secret or key of an application. All applications that a person uses share a
 * separate quota, so that they cannot use up that of the person's login. Undefined for a trusted machine.
 */
function personKey(caller: Caller): string | undefined {
  const { clientId, subject, person, givenBy } = caller;
  if (subject !== clientId && !isFirstParty(caller)) return `${subject} by applications`;
  return person && (givenBy ?? person.id);
}
