import { type Credential, isApiKey } from '@gatehouse/verify/authorization';
import { createProofVerifier } from '@gatehouse/verify/dpop';
import type { ApiKeyResolver } from './api-keys.ts';
import { credentialIn } from './authorization.ts';
import { type Caller, unauthenticated } from './caller.ts';
import { toServiceError } from './verification-error.ts';
import type { TokenVerifier } from './verifier.ts';

/** The parts of a request that identify its caller. */
export type CredentialRequest = {
  /** The Authorization header. */
  authorization: string | undefined;
  /** The DPoP header. */
  dpop: string | undefined;
  method: string;
  /** The path as it was sent, with or without its query. */
  path: string;
  /** The IP address that it comes from, which identity notes as that of the last use of an API key. */
  address?: string;
};

export type CredentialVerifier = {
  /**
   * Identifies the caller by an access token or an API key. Throws `unauthenticated`, with a challenge, unless the
   * request has a valid credential, and `unavailable` when the credential cannot be checked. `beforeVerification` runs
   * before a credential that is not cached is verified (its signature, or a request to identity); its errors are passed
   * on.
   */
  verify(request: CredentialRequest, beforeVerification?: () => Promise<void>): Promise<Caller>;
  /** The caller by the value of an Authorization header alone: a token that is bound to a key needs no proof here. */
  callerBy(authorization: string): Promise<Caller>;
  /**
   * Throws as verify() does if the credential of a request whose caller was identified before is no longer valid, or an
   * API key no longer stands for the same. A DPoP proof is not verified again, since it may be used once.
   */
  recheck(authorization: string | undefined, caller: Caller): Promise<void>;
};

/** Verifies `Authorization: Bearer <access token or API key>`, `ApiKey <API key>` and `DPoP <access token>`. */
export function createCredentialVerifier(options: {
  tokens: TokenVerifier;
  /** Without it, API keys are refused. */
  apiKeys?: ApiKeyResolver;
  /** `check` throws when too little is known about revocations. */
  feed?: { check(): void };
  /** The origin that callers see. */
  publicUrl: string;
}): CredentialVerifier {
  const { tokens, apiKeys, feed, publicUrl } = options;
  const { origin } = new URL(publicUrl);
  const proofs = createProofVerifier();

  /** The caller by the token or key alone. */
  function callerBy(
    { scheme, value }: Credential,
    beforeVerification?: () => Promise<void>,
    address?: string,
  ): Promise<Caller> {
    feed?.check();
    if (isApiKey({ scheme, value })) {
      if (apiKeys === undefined) throw unauthenticated('API keys are not accepted here.', 'invalid_token');
      return apiKeys.verify(value, beforeVerification, address);
    }
    return tokens.verify(value, beforeVerification);
  }

  return {
    async verify({ authorization, dpop, method, path, address }, beforeVerification) {
      const credential = credentialIn(authorization);
      const { scheme, value: token } = credential;
      const caller = await callerBy(credential, beforeVerification, address);
      if (isApiKey(credential)) return caller;
      const { keyThumbprint } = caller;
      const urls = () => [origin + path];
      try {
        await proofs.verify({ scheme, token, keyThumbprint, proof: dpop, method, urls });
      } catch (error) {
        throw toServiceError(error);
      }
      return caller;
    },

    callerBy: async (authorization) => callerBy(credentialIn(authorization)),

    async recheck(authorization, { epoch }) {
      const now = await callerBy(credentialIn(authorization));
      // A key lives on when its owner's role or its application changes, but permits something else.
      if (now.epoch.client === epoch.client && now.epoch.subject === epoch.subject) return;
      throw unauthenticated(
        'The permissions of the API key have changed: send the request again.',
        'invalid_token',
      );
    },
  };
}
