import { API_KEY_PREFIX } from '@gatehouse/tokens/api-key';
import type { ApiKey } from './api-key.ts';
import { type Application, type ClientSecret, isConfidential, type LastUse } from './application.ts';

/** How an application authenticates at the token endpoint (RFC 7591 §2); HTTP Basic is accepted, too. */
function authMethodOf(application: Application): 'none' | 'client_secret_post' | 'private_key_jwt' {
  if (!isConfidential(application)) return 'none';
  return application.jwks === undefined ? 'client_secret_post' : 'private_key_jwt';
}

/** An application as the API returns it. */
export function applicationView(application: Application) {
  return {
    client_id: application.id,
    name: application.name,
    type: application.type,
    redirect_uris: application.redirectUris,
    post_logout_redirect_uris: application.postLogoutRedirectUris,
    scopes: application.scopes,
    profiles: application.profiles,
    legacy_implicit: application.legacyImplicit,
    trusted: application.trusted,
    trusted_by: application.trust?.by ?? null,
    trusted_at: application.trust?.at ?? null,
    owner: application.owner,
    token_endpoint_auth_method: authMethodOf(application),
    jwks: application.jwks ?? null,
    backchannel_logout_uri: application.backchannelLogoutUri ?? null,
    dpop_bound_access_tokens: application.dpopBound,
    ...lastUseView(application.lastUse),
    created_at: application.createdAt,
    updated_at: application.updatedAt,
  };
}

/** A client secret without its text. */
export function secretView({ id, createdAt, expiresAt, lastUse }: ClientSecret) {
  return { id, created_at: createdAt, expires_at: expiresAt, ...lastUseView(lastUse) };
}

function lastUseView(use: LastUse | null) {
  return { last_used_at: use?.at ?? null, last_used_address: use?.address ?? null };
}

/** An API key without its text, whose beginning is `prefix`. */
export function keyView(key: ApiKey) {
  return {
    id: key.id,
    name: key.name,
    scopes: key.scopes,
    prefix: API_KEY_PREFIX + key.id,
    created_at: key.createdAt,
    expires_at: key.expiresAt,
    ...lastUseView(key.lastUse),
    rotated_to: key.rotatedTo,
  };
}
