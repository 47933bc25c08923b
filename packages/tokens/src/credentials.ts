import { API_KEY_PREFIX } from './api-key.ts';
import type { ApiKeyResolver } from './api-keys.ts';
import { credentialIn } from './authorization.ts';
import { type Caller, unauthenticated } from './caller.ts';
import { createDpopVerifier, dpopUnauthenticated } from './dpop.ts';
import type { TokenVerifier } from './verifier.ts';

/** What of a request says who makes it. */
export type CredentialRequest = {
  /** The Authorization header. */
  authorization: string | undefined;
  /** The DPoP header. */
  dpop: string | undefined;
  method: string;
  /** The path of the request as it was sent, with or without its query. */
  path: string;
};

export type CredentialVerifier = {
  /**
   * Who makes a request, by an access token or an API key. Throws `unauthenticated`, with a challenge, without a
   * credential that holds, and `unavailable` when nobody can tell. `admit` is called before a credential that is
   * not known yet is checked at a cost (a signature, a question to identity); what it throws is thrown.
   */
  verify(request: CredentialRequest, admit?: () => Promise<void>): Promise<Caller>;
};

/**
 * Verifies `Authorization: Bearer <access token or API key>`, `ApiKey <API key>` and `DPoP <access token>`.
 * `feed.check` throws when too little is known about revocations. `publicUrl` is the origin that callers see.
 */
export function createCredentialVerifier(options: {
  tokens: TokenVerifier;
  /** Without it, API keys are not taken. */
  apiKeys?: ApiKeyResolver;
  feed?: { check(): void };
  publicUrl: string;
}): CredentialVerifier {
  const { tokens, apiKeys, feed, publicUrl } = options;
  const proofs = createDpopVerifier({ publicUrl });
  return {
    async verify({ authorization, dpop, method, path }, admit) {
      const { scheme, value } = credentialIn(authorization);
      feed?.check();
      if (scheme === 'apikey' || (scheme === 'bearer' && value.startsWith(API_KEY_PREFIX))) {
        if (apiKeys === undefined) throw unauthenticated('API keys are not taken here.', 'invalid_token');
        return apiKeys.verify(value, admit);
      }
      const caller = await tokens.verify(value, admit);
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
        // RFC 9449 §7.2: else whoever finds the token could use it.
        throw dpopUnauthenticated(
          'The access token is bound to a key: send it as DPoP, with a proof.',
          'invalid_token',
        );
      }
      return caller;
    },
  };
}
