import type Provider from 'oidc-provider';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
// The package does not export how its own grants verify proofs, and a second way to do it could come to differ.
import validateDpop, { checkDpopReplay } from 'oidc-provider/lib/helpers/validate_dpop.js';

/**
 * The thumbprint of the key to which the token of this request is to be bound, proved by its DPoP header (RFC 9449 §5), as in oidc-provider's
 * own grants. Undefined without a proof, unless the client or `isRequired` demands one. Throws `invalid_grant` and `invalid_dpop_proof`.
 */
export async function proofKey(
  provider: Provider,
  ctx: KoaContextWithOIDC,
  isRequired = false,
): Promise<string | undefined> {
  const { client } = ctx.oidc;
  const proof = await validateDpop(provider, ctx);
  if (proof === undefined && (isRequired || client?.dpopBoundAccessTokens === true)) {
    throw new errors.InvalidGrant('DPoP proof JWT not provided');
  }
  await checkDpopReplay(provider, ctx, proof, client?.clientId ?? '');
  return proof?.thumbprint;
}
