import { createLocalJWKSet, errors, type JSONWebKeySet } from 'jose';
import { type Fetch, fetchJson } from './requests.ts';
import type { KeyGetter } from './token-verifier.ts';

const MAX_AGE_MS = 600_000;
/** The keys are published long before they sign, so this limits the fetches that an unknown kid can cause. */
const COOLDOWN_MS = 1000;

export type RemoteKeys = {
  get: KeyGetter;
  /** Whether a key is among those that were fetched last. */
  isPublished(kid: string): boolean;
  /** Fetches the keys now. Rejects when they cannot be fetched. */
  reload(): Promise<void>;
};

/** The keys of the issuer. While they cannot be fetched, those that are known remain in use. */
export function createRemoteKeys(options: {
  /** Where they are. */
  url: () => Promise<string>;
  fetch: Fetch;
}): RemoteKeys {
  let known: ReturnType<typeof createLocalJWKSet> | undefined;
  let kids: ReadonlySet<unknown> = new Set();
  let loadedAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let pending: Promise<void> | undefined;

  async function load(): Promise<void> {
    triedAt = Date.now();
    try {
      const jwks = (await fetchJson(options.fetch, await options.url())) as unknown as JSONWebKeySet;
      known = createLocalJWKSet(jwks);
      kids = new Set(jwks.keys.map(({ kid }) => kid));
      loadedAt = Date.now();
    } finally {
      pending = undefined;
    }
  }

  /** Requests that come while the keys are being fetched share the response. */
  function reload(): Promise<void> {
    pending ??= load();
    return pending;
  }

  const mayTry = () => pending !== undefined || Date.now() - triedAt >= COOLDOWN_MS;

  return {
    reload,
    isPublished: (kid) => kids.has(kid),
    async get(header, token) {
      if (known === undefined) await reload();
      else if (Date.now() - loadedAt >= MAX_AGE_MS && mayTry()) await reload().catch(() => {});
      if (known === undefined) throw new Error('there are no keys');
      try {
        return await known(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey) || !mayTry()) throw error;
        await reload().catch(() => {});
        return known(header, token);
      }
    },
  };
}
