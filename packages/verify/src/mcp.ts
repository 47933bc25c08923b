import { VerifyError } from './errors.ts';
import type { Needs, Verifier } from './verifier.ts';

/** AuthInfo of the MCP SDK. */
export type AuthInfo = {
  token: string;
  clientId: string;
  scopes: string[];
  expiresAt: number;
  resource: URL;
  extra: Record<string, unknown>;
};

type ErrorClass = new (message: string) => Error;

const KEY_TTL_SECONDS = 60;

/**
 * An OAuthTokenVerifier of the MCP SDK, for requireBearerAuth(), which recognizes errors by the SDK's own class: pass
 * `InvalidTokenError`. A token that is bound to a key is refused, since the SDK passes on no proof.
 */
export function tokenVerifier(
  verifier: Verifier,
  { InvalidTokenError, ...needs }: Pick<Needs, 'acr' | 'maxAge'> & { InvalidTokenError: ErrorClass },
): { verifyAccessToken(token: string): Promise<AuthInfo> } {
  return {
    async verifyAccessToken(token) {
      try {
        const headers = { authorization: `Bearer ${token}` };
        const { claims, clientId, scopes, subject, kind } = await verifier.verify({ headers }, needs);
        const { exp = Math.floor(Date.now() / 1000) + KEY_TTL_SECONDS } = claims as { exp?: number };
        const resource = new URL(String(verifier.metadata.document().resource));
        return {
          token,
          clientId,
          scopes: [...scopes],
          expiresAt: exp,
          resource,
          extra: { subject, kind, claims },
        };
      } catch (error) {
        if (error instanceof VerifyError && error.status === 401) throw new InvalidTokenError(error.message);
        throw error;
      }
    },
  };
}
