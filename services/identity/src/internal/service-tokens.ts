import { createHash, timingSafeEqual } from 'node:crypto';
import { INTERNAL_SCOPE, internalAudience } from '@gatehouse/tokens/scopes';
import type { TokenSigner } from '../oidc/token-signer.ts';

/** A service of ours, which gets tokens for the internal routes with client credentials. */
export type ServiceClient = { id: string; secret: string };

/** Who identity is when it calls another service. */
const OWN_CLIENT = 'identity';
/** In seconds. */
const LIFETIME = 300;

/** Tokens for the internal routes of other services, each used for a few minutes. */
export function createServiceTokens(signer: () => TokenSigner, issuer: string): () => Promise<string> {
  let known: { token: string; until: number; signer: TokenSigner } | undefined;
  return async () => {
    const sign = signer();
    // A new signer means new keys, and the old one may be withdrawn.
    if (known === undefined || known.signer !== sign || known.until < Date.now()) {
      const { token } = await sign({
        subject: OWN_CLIENT,
        clientId: OWN_CLIENT,
        audience: internalAudience(issuer),
        scope: INTERNAL_SCOPE,
        lifetime: LIFETIME,
        claims: { trusted: true, epoch: { client: 0 } },
      });
      known = { token, until: Date.now() + (LIFETIME / 2) * 1000, signer: sign };
    }
    return known.token;
  };
}

/** Our own services as clients: whether the secret is that of one; undefined when there is no such service. */
export function createServiceClients(
  services: readonly ServiceClient[],
): (id: string, secret: string) => boolean | undefined {
  const hashes = new Map(services.map(({ id, secret }) => [id, sha256(secret)]));
  return (id, secret) => {
    const expected = hashes.get(id);
    return expected === undefined ? undefined : timingSafeEqual(expected, sha256(secret));
  };
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
