import { randomBytes } from 'node:crypto';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import type { Caller } from '@gatehouse/tokens/caller';
import type { AdapterPayload } from 'oidc-provider';
import { actOf } from '../../tokens/act-claim.ts';

/** oidc-provider revokes and introspects only tokens that it stores, so a verified JWT is replaced by a handle. */
export type AccessTokenHandles = {
  /** Issues a handle for this caller's token, which is valid while `action` runs; by default, of the API. */
  issue<T>(caller: Caller, action: (handle: string) => Promise<T>, audience?: string): Promise<T>;
  find(handle: string): AdapterPayload | undefined;
  /** The caller whose token has this handle. */
  callerOf(handle: string): Caller | undefined;
  /** The audience of the token with this `jti`, while it has a handle. */
  audienceOf(jti: string): string | undefined;
};

export function createAccessTokenHandles(api: string): AccessTokenHandles {
  const issued = new Map<string, { caller: Caller; payload: AdapterPayload }>();
  return {
    async issue(caller, action, audience = api) {
      const handle = `handle-${randomBytes(16).toString('base64url')}`;
      issued.set(handle, { caller, payload: payloadOf(caller, audience) });
      try {
        return await action(handle);
      } finally {
        issued.delete(handle);
      }
    },
    find: (handle) => issued.get(handle)?.payload,
    callerOf: (handle) => issued.get(handle)?.caller,
    audienceOf: (jti) =>
      [...issued.values()].find(({ payload }) => payload.jti === jti)?.payload.aud as string | undefined,
  };
}

/** A token as oidc-provider's AccessToken model. Without the grant, as its other tokens must stay valid. */
function payloadOf(caller: Caller, audience: string): AdapterPayload {
  const ofMachine = caller.subject === caller.clientId;
  // The further members of an introspection (RFC 9470 §6.2).
  const extra = {
    ...(ofMachine ? { sub: caller.subject } : {}),
    // A resource server that keeps the response drops it when the owner's access ends.
    ...(caller.resource === undefined ? {} : omitUndefined({ owner: caller.person?.id })),
    ...omitUndefined({ acr: caller.acr, auth_time: caller.authTime, act: actOf(caller.actors) }),
  };
  return {
    kind: 'AccessToken',
    jti: caller.tokenId ?? caller.keyId ?? '',
    clientId: caller.clientId,
    ...(ofMachine ? {} : { accountId: caller.subject }),
    extra,
    scope: [...caller.scopes].join(' '),
    aud: audience,
    iat: Math.floor(caller.issuedAt),
    exp: Math.floor(caller.expiresAt),
    ...(caller.keyThumbprint === undefined ? {} : { jkt: caller.keyThumbprint }),
  };
}
