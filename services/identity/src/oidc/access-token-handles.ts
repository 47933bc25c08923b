import { randomBytes } from 'node:crypto';
import type { Caller } from '@gatehouse/tokens/caller';
import type { AdapterPayload } from 'oidc-provider';

/**
 * oidc-provider revokes and introspects only tokens that it stores, and refuses JWTs. A request about a JWT
 * carries a handle in its place, by which oidc-provider finds what the verified token says.
 */
export type AccessTokenHandles = {
  /** Runs `action` with a handle for the token of this caller; the handle is worth nothing afterwards. */
  lend<T>(caller: Caller, action: (handle: string) => Promise<T>): Promise<T>;
  find(handle: string): AdapterPayload | undefined;
};

export function createAccessTokenHandles(audience: string): AccessTokenHandles {
  const lent = new Map<string, AdapterPayload>();
  return {
    async lend(caller, action) {
      const handle = `handle-${randomBytes(16).toString('base64url')}`;
      lent.set(handle, payloadOf(caller, audience));
      try {
        return await action(handle);
      } finally {
        lent.delete(handle);
      }
    },
    find: (handle) => lent.get(handle),
  };
}

/** A token as oidc-provider's AccessToken model; without the grant, whose other tokens live on. */
function payloadOf(caller: Caller, audience: string): AdapterPayload {
  const ofMachine = caller.subject === caller.clientId;
  return {
    kind: 'AccessToken',
    jti: caller.tokenId ?? '',
    clientId: caller.clientId,
    ...(ofMachine ? { extra: { sub: caller.subject } } : { accountId: caller.subject }),
    scope: [...caller.scopes].join(' '),
    aud: audience,
    iat: caller.issuedAt,
    exp: caller.expiresAt,
    ...(caller.keyThumbprint === undefined ? {} : { jkt: caller.keyThumbprint }),
  };
}
