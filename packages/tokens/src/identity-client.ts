import { unavailable } from '@gatehouse/kit/errors';
import type { ResolvedKey } from './api-keys.ts';
import type { InternalClient } from './internal-client.ts';
import { isRole } from './scopes.ts';

/** What a service asks of identity to know which credentials hold. */
export type IdentityClient = {
  /** For createRevocationFeed(). */
  revocations(since?: string): Promise<unknown>;
  /** For createApiKeyResolver(). */
  resolveApiKey(hash: string): Promise<ResolvedKey | undefined>;
};

/** `identityUrl`: where identity is, as seen from here. Its methods throw `unavailable`. */
export function createIdentityClient(internal: InternalClient, identityUrl: string): IdentityClient {
  const base = `${identityUrl}/internal/identity`;

  async function readJson(response: Response): Promise<unknown> {
    try {
      if (response.ok) return await response.json();
      await response.body?.cancel();
    } catch (error) {
      throw unavailable("Identity's answer cannot be read.", error);
    }
    throw unavailable('Identity cannot answer just now.', new Error(`it answered ${response.status}`));
  }

  return {
    async revocations(since) {
      const query = since === undefined ? '' : `?${new URLSearchParams({ since })}`;
      return readJson(await internal.fetch(`${base}/revocations${query}`));
    },
    async resolveApiKey(hash) {
      const response = await internal.fetch(`${base}/api-keys/resolve`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ hash }),
      });
      if (response.status === 404) {
        await response.body?.cancel();
        return undefined;
      }
      const key = await readJson(response);
      if (!isResolvedKey(key)) throw unavailable("Identity's answer cannot be read.");
      return key;
    },
  };
}

function isResolvedKey(value: unknown): value is ResolvedKey {
  const key = Object(value) as Partial<Record<keyof ResolvedKey, unknown>>;
  const { client, subject } = Object(key.epoch) as Record<string, unknown>;
  return (
    typeof key.id === 'string' &&
    typeof key.client_id === 'string' &&
    Array.isArray(key.scopes) &&
    key.scopes.every((scope) => typeof scope === 'string') &&
    typeof key.trusted === 'boolean' &&
    (key.owner === null || typeof key.owner === 'string') &&
    (key.role === null || isRole(key.role)) &&
    Number.isFinite(client) &&
    (subject === undefined || Number.isFinite(subject)) &&
    (key.expires_at === null || !Number.isNaN(Date.parse(String(key.expires_at))))
  );
}
