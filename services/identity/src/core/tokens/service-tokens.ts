import { createHash, timingSafeEqual } from 'node:crypto';
import type { CLIENT_SERVICES, ServiceName } from '@gatehouse/core/services';
import type { RequestToken } from '@gatehouse/tokens/internal-client';
import { INTERNAL_SCOPE, internalAudience } from '@gatehouse/tokens/scopes';
import type { TokenSigner } from './token-signer.ts';

/**
 * Another service, which gets its tokens for internal routes by client credentials. With a `subject`, it authenticates by a token of its platform. In a request,
 * the secret, which only this process knows, then takes the place of the token.
 */
export type ServiceClient = { id: (typeof CLIENT_SERVICES)[number]; secret: string; subject?: string };

const OWN_CLIENT: ServiceName = 'identity';
/** In seconds. */
const LIFETIME = 300;

/** Access tokens that identity signs for itself, each for the internal routes of one other service. */
export function createServiceTokens(signer: () => TokenSigner, issuer: string): RequestToken {
  return async (service) => {
    const { token } = await signer()({
      subject: OWN_CLIENT,
      clientId: OWN_CLIENT,
      audience: internalAudience(issuer, service),
      scope: INTERNAL_SCOPE,
      lifetime: LIFETIME,
      claims: { trusted: true, epoch: { client: 0 } },
    });
    return { value: token, lifetime: LIFETIME };
  };
}

/** Whether the secret is that of the service with this client id; undefined when there is no such service. */
export function createServiceClients(
  services: readonly ServiceClient[],
): (id: string, secret: string) => boolean | undefined {
  const hashes = new Map<string, Buffer>(services.map(({ id, secret }) => [id, sha256(secret)] as const));
  return (id, secret) => {
    const expected = hashes.get(id);
    return expected === undefined ? undefined : timingSafeEqual(expected, sha256(secret));
  };
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
