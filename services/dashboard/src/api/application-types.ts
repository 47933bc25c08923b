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
  trusted_by: string | null;
  trusted_at: string | null;
  owner: string | null;
  token_endpoint_auth_method: string;
  jwks: { keys: unknown[] } | null;
  jwks_uri: string | null;
  backchannel_logout_uri: string | null;
  dpop_bound_access_tokens: boolean;
  require_pushed_authorization_requests: boolean;
  require_second_factor: boolean;
  device_flow: boolean;
  id_token_signed_response_alg: string;
  id_token_profile_claims: boolean;
  security_profile: string | null;
  token_exchange: ExchangeRule[];
  identity_assertions: AssertionRule[];
  /** How it looks to people who sign in; absent where nothing is set. */
  primary_color?: string;
  logo_uri?: string;
  policy_uri?: string;
  tos_uri?: string;
  support_uri?: string;
  /** Whether the client manages its own registration (RFC 7592). */
  registered: boolean;
  created_at: string;
  updated_at: string;
} & LastUse;
/** An API for which an application exchanges tokens, and the scopes there. */
export type ExchangeRule = { resource: string; scopes: string[] };
/** An authorization server elsewhere for which an application gets identity assertions, and the most scopes and the only APIs there. */
export type AssertionRule = {
  authorization_server: string;
  client_id: string;
  scopes: string[];
  resources?: string[];
};
export type AppType = 'web' | 'spa' | 'native' | 'machine' | 'resource';
/** To the minute, and from which IP address, if that is known. */
export type LastUse = { last_used_at: string | null; last_used_address: string | null };
type Credential = {
  id: string;
  /** Null for one of the operator. */
  last_four: string | null;
  created_at: string;
  expires_at: string | null;
} & LastUse;
export type ApiSecret = Credential & { label: string | null };
export type ApiKey = Credential & {
  name: string;
  scopes: string[];
  prefix: string;
  rotated_to: string | null;
};
/** The tokens of an issuer by which an application signs in. */
export type FederatedCredential = {
  id: string;
  name: string;
  issuer: string;
  subject: string;
  audience: string | null;
  claims: Record<string, string | number | boolean>;
  /** An identity service of the version before does not say it. */
  issuer_enabled?: boolean;
  created_at: string;
} & LastUse;
export type ApplicationPage = ApiPage<ApiApplication>;
/** An application with the id by which its page is found and, on that page, the role of the visitor; rules are lines of a form. */
export type Application = Omit<ApiApplication, 'token_exchange' | 'identity_assertions'> & {
  id: string;
  role?: 'owner' | MemberRole | undefined;
  token_exchange: readonly string[];
  identity_assertions: readonly string[];
};
export type MemberRole = 'viewer' | 'developer';

export const withId = (application: ApiApplication): Application => {
  // An identity service of the version before has none.
  const { client_id: id, token_exchange: rules = [], identity_assertions: assertions = [] } = application;
  return {
    ...application,
    id,
    token_exchange: rules.map(({ resource, scopes }) => [resource, ...scopes].join(' ')),
    identity_assertions: assertions.map((it) => {
      const apis = it.resources ? ['|', ...it.resources] : [];
      return [it.authorization_server, it.client_id, ...it.scopes, ...apis].join(' ');
    }),
  };
};

/** Whether it can keep a secret. */
export function isConfidential({ type }: Pick<ApiApplication, 'type'>): boolean {
  return type === 'web' || type === 'machine' || type === 'resource';
}

const SIGNS_IN: readonly AppType[] = ['web', 'spa', 'native'];
/** The settings that only some types of applications have, by their names in the API. */
const OFFERED: Readonly<Record<string, readonly AppType[]>> = {
  redirect_uris: SIGNS_IN,
  post_logout_redirect_uris: SIGNS_IN,
  backchannel_logout_uri: SIGNS_IN,
  scopes: [...SIGNS_IN, 'machine'],
  dpop_bound_access_tokens: [...SIGNS_IN, 'machine'],
  require_pushed_authorization_requests: SIGNS_IN,
  require_second_factor: SIGNS_IN,
  id_token_signed_response_alg: SIGNS_IN,
  id_token_profile_claims: SIGNS_IN,
  primary_color: SIGNS_IN,
  logo_uri: SIGNS_IN,
  policy_uri: SIGNS_IN,
  tos_uri: SIGNS_IN,
  support_uri: SIGNS_IN,
  legacy_implicit: ['web', 'spa'],
  device_flow: ['native', 'web'],
  jwks: ['web', 'machine', 'resource'],
  jwks_uri: ['web', 'machine', 'resource'],
  security_profile: ['web', 'machine'],
  token_exchange: ['machine', 'resource'],
  identity_assertions: ['web'],
  federated_credentials: ['web', 'machine'],
};

/** Whether applications of a type have a setting. */
export function hasSetting(type: AppType, name: string): boolean {
  return OFFERED[name]?.includes(type) ?? true;
}

/** The path of an application in the API. */
export function applicationPath(id: string): string {
  return `/api/v1/applications/${encodeURIComponent(id)}`;
}
