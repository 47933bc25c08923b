import { type Fetch, fetchJson } from './requests.ts';

/** Reads the issuer's metadata (RFC 8414) once it is needed, and again if that failed. */
export function createDiscovery({ issuer, fetch }: { issuer: string; fetch: Fetch }) {
  let metadata: Promise<Record<string, unknown>> | undefined;

  async function load(): Promise<Record<string, unknown>> {
    const found = await fetchJson(fetch, `${issuer}/.well-known/oauth-authorization-server`);
    // RFC 8414 §3.3
    if (found.issuer !== issuer) throw new Error('the metadata is that of another issuer');
    const endpoints = [found.jwks_uri, found.introspection_endpoint].filter((it) => it !== undefined);
    if (issuer.startsWith('https:') && !endpoints.every((it) => String(it).startsWith('https:')))
      throw new Error('an endpoint is not https');
    return found;
  }

  return {
    async url(name: 'jwks_uri' | 'introspection_endpoint'): Promise<string> {
      metadata ??= load().catch((error) => {
        metadata = undefined;
        throw error;
      });
      return String((await metadata)[name]);
    },
  };
}
