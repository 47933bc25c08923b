import type { ApiPage } from './pages.ts';

/** An application as the API returns it. */
export type ApiApplication = {
  client_id: string;
  name: string;
  type: AppType;
  redirect_uris: string[];
  post_logout_redirect_uris: string[];
  scopes: string[];
  profiles: Record<string, string>;
  legacy_implicit: boolean;
  trusted: boolean;
  owner: string | null;
  token_endpoint_auth_method: string;
  backchannel_logout_uri: string | null;
  dpop_bound_access_tokens: boolean;
  created_at: string;
  updated_at: string;
  last_used_at?: string | null;
};
export type AppType = 'web' | 'spa' | 'native' | 'machine';
export type ApiSecret = {
  id: string;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
};
export type ApiKey = ApiSecret & {
  name: string;
  scopes: string[];
  prefix: string;
  rotated_to: string | null;
};
export type ApplicationPage = ApiPage<ApiApplication>;

/** Whether it can keep a secret. */
export function isConfidential({ type }: Pick<ApiApplication, 'type'>): boolean {
  return type === 'web' || type === 'machine';
}

/** The path of an application in the API. */
export function applicationPath(id: string): string {
  return `/api/v1/applications/${encodeURIComponent(id)}`;
}
