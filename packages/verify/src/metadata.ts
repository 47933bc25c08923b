import { DPOP_ALGORITHMS } from './dpop.ts';

export type MetadataOptions = {
  /** For people. */
  name?: string;
  scopes?: readonly string[];
  /** The ID of the owner of the API, by which Gatehouse verifies whose it is. */
  owner?: string;
  /** More members of the document, such as `resource_documentation`. */
  extra?: Readonly<Record<string, unknown>>;
};

/** An API as a protected resource (RFC 9728). */
export type ResourceMetadata = {
  /** Where its metadata is. */
  url: string;
  /** The path of that URL. */
  path: string;
  headers: Readonly<Record<string, string>>;
  document(options?: MetadataOptions): Record<string, unknown>;
};

export function createResourceMetadata(issuer: string, audience: string): ResourceMetadata {
  const { origin, pathname } = new URL(audience);
  // RFC 9728 §3.1
  const path = `/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`;
  return {
    url: origin + path,
    path,
    headers: { 'access-control-allow-origin': '*', 'cache-control': 'max-age=3600' },
    document: ({ name, scopes, owner, extra } = {}) => ({
      resource: audience,
      authorization_servers: [issuer],
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: DPOP_ALGORITHMS,
      ...(name === undefined ? {} : { resource_name: name }),
      ...(scopes === undefined ? {} : { scopes_supported: scopes }),
      ...(owner === undefined ? {} : { gatehouse_owner: owner }),
      ...extra,
    }),
  };
}
