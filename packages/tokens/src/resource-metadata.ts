import { DPOP_ALGORITHMS } from '@gatehouse/verify/dpop';
import {
  API_SCOPES,
  apiAudience,
  MCP_READ,
  MCP_WRITE,
  mcpAudience,
  OIDC_SCOPES,
  SSF_MANAGE,
  SSF_READ,
} from './scopes.ts';

/** Where the metadata of the API is (RFC 9728 §3.1): its identifier, …/api, with the well-known part before the path. */
export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource/api';

/** The same of the MCP server. */
export const MCP_METADATA_PATH = '/.well-known/oauth-protected-resource/mcp';

/** The metadata of the MCP server as a protected resource (RFC 9728 §2). */
export function mcpMetadata(issuer: string) {
  return {
    resource: mcpAudience(issuer),
    authorization_servers: [issuer],
    scopes_supported: [MCP_READ, MCP_WRITE],
    bearer_methods_supported: ['header'],
    dpop_signing_alg_values_supported: DPOP_ALGORITHMS,
    dpop_bound_access_tokens_required: false,
    resource_name: 'Gatehouse MCP',
    resource_documentation: `${issuer}/docs/guides/use-from-an-agent`,
  };
}

/** The metadata of the API as a protected resource (RFC 9728 §2). */
export function resourceMetadata(issuer: string) {
  return {
    resource: apiAudience(issuer),
    authorization_servers: [issuer],
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    scopes_supported: [...OIDC_SCOPES, ...API_SCOPES, SSF_MANAGE, SSF_READ],
    bearer_methods_supported: ['header'],
    dpop_bound_access_tokens_required: false,
    resource_name: 'Gatehouse',
    resource_documentation: `${issuer}/docs/api`,
  };
}

/** The headers of an error, with a challenge that says where the metadata is (RFC 9728 §5.1): that of the API by default. */
export function withResourceMetadata(
  headers: Readonly<Record<string, string>>,
  issuer: string,
  { path = RESOURCE_METADATA_PATH, scope }: { path?: string; scope?: string } = {},
): Readonly<Record<string, string>> {
  const { 'www-authenticate': challenge } = headers;
  if (challenge === undefined) return headers;
  const ofScope = scope === undefined ? [] : [`scope="${scope}"`];
  const parts = [challenge, `resource_metadata="${issuer}${path}"`, ...ofScope];
  return { ...headers, 'www-authenticate': parts.join(', ') };
}
