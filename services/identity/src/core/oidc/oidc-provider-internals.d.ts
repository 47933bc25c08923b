declare module 'oidc-provider/lib/helpers/validate_dpop.js' {
  import type { KoaContextWithOIDC, Provider } from 'oidc-provider';

  type Proof = { thumbprint: string; jti: string; iat: number };
  export default function validateDpop(
    provider: Provider,
    ctx: KoaContextWithOIDC,
  ): Promise<Proof | undefined>;
  export function checkDpopReplay(
    provider: Provider,
    ctx: KoaContextWithOIDC,
    proof: Proof | undefined,
    clientId: string,
  ): Promise<void>;
}
