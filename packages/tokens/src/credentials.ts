import { API_KEY_PREFIX } from './api-key.ts';
import type { ApiKeyResolver } from './api-keys.ts';
import { credentialIn } from './authorization.ts';
import { type Caller, unauthenticated } from './caller.ts';
import { createDpopVerifier, dpopUnauthenticated } from './dpop.ts';
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
};

export type CredentialVerifier = {
  /**
   * Identifies the caller by an access token or an API key. Throws `unauthenticated`, with a challenge, unless the
   * request has a valid credential, and `unavailable` when the credential cannot be checked. `beforeVerification` runs
   * before a credential that is not cached is verified (its signature, or a request to identity); its errors are passed
   * on.
   */
  verify(request: CredentialRequest, beforeVerification?: () => Promise<void>): Promise<Caller>;
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
  const proofs = createDpopVerifier({ publicUrl });
  return {
    async verify({ authorization, dpop, method, path }, beforeVerification) {
      const { scheme, value } = credentialIn(authorization);
      feed?.check();
      if (scheme === 'apikey' || (scheme === 'bearer' && value.startsWith(API_KEY_PREFIX))) {
        if (apiKeys === undefined) throw unauthenticated('API keys are not accepted here.', 'invalid_token');
        return apiKeys.verify(value, beforeVerification);
      }
      const caller = await tokens.verify(value, beforeVerification);
      const { keyThumbprint } = caller;
      if (scheme === 'dpop') {
        if (keyThumbprint === undefined) {
          throw dpopUnauthenticated(
            'The access token is not bound to a key: send it as Bearer.',
            'invalid_token',
          );
        }
        await proofs.verify({ proof: dpop, method, path, token: value, keyThumbprint });
      } else if (keyThumbprint !== undefined) {
        // RFC 9449 §7.2: otherwise a stolen token could be used without its key.
        throw dpopUnauthenticated(
          'The access token is bound to a key: send it as DPoP, with a proof.',
          'invalid_token',
        );
      }
      return caller;
    },
  };
}
