import type { Api } from './api.ts';
import type { ApiPage } from './pages.ts';

/** An issuer whose tokens count here. */
export type TrustedIssuer = {
  id: string;
  issuer: string;
  kinds: readonly ('workload' | 'enterprise')[];
  algorithms: readonly string[];
  enabled: boolean;
  preset: string | null;
  jwks_uri: string | null;
  jwks: { keys: readonly unknown[] } | null;
  reuses_tokens: boolean;
  scopes: readonly string[] | null;
  applications: readonly string[] | null;
  created_at: string;
  updated_at: string;
};

/** The path of trusted issuers in the API, for admins. */
export const TRUSTED_ISSUERS = '/api/v1/trusted-issuers';

/** All trusted issuers. */
export const trustedIssuersOf = (api: Api) => api.get<ApiPage<TrustedIssuer>>(TRUSTED_ISSUERS);
