import { type ServiceError, unavailable } from '@gatehouse/core/errors';
import type { ResolvedKey } from './api-keys.ts';
import type { InternalClient } from './internal-client.ts';
import { isRole } from './scopes.ts';

/** The requests by which a service learns from identity which credentials are valid. */
export type IdentityClient = {
  /** For createRevocationFeed(). */
  revocations(since?: string): Promise<unknown>;
  /** For createApiKeyResolver(). */
  resolveApiKey(hash: string, address?: string): Promise<ResolvedKey | undefined>;
};

/** Its methods throw `unavailable`. `internal` is a client of identity's internal routes. */
export function createIdentityClient(internal: InternalClient): IdentityClient {
  return {
    async revocations(since) {
      const query = since === undefined ? '' : `?${new URLSearchParams({ since })}`;
      const { status, body } = await internal.request('GET', `/revocations${query}`);
      if (status !== 200) throw unexpected(status);
      return body;
    },
    async resolveApiKey(hash, address) {
      const { status, body } = await internal.request('POST', '/api-keys/resolve', { hash, address });
      if (status === 404) return undefined;
      if (status !== 200 || !isResolvedKey(body)) throw unexpected(status);
      return body;
    },
  };
}

function unexpected(status: number): ServiceError {
  return unavailable(
    'The identity service cannot answer at the moment.',
    new Error(`unexpected answer, status ${status}`),
  );
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
