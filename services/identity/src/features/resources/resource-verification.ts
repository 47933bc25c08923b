import type { Logger } from '@gatehouse/core/logger';
import type { Outbound } from '@gatehouse/outbound/outbound';
import { LRUCache } from 'lru-cache';
import { identifierKeyOf, type Resource, type ResourceStore } from './registered-resource.ts';

/** Of the metadata, in bytes. */
export const MAX_METADATA = 64 * 1024;
/** For the whole exchange, in milliseconds. */
export const METADATA_TIMEOUT_MS = 5000;
/** The member of the metadata with the ID of the person whose resource it is; a server need not have it (RFC 9728 §2). */
export const OWNER_MEMBER = 'gatehouse_owner';
/** How long after an attempt for a token request the metadata of the resource is not fetched for another one. */
const PAUSE = { max: 10_000, ttl: 60_000 };

/** Proves that the URL of a resource is its owner's: the metadata there names this issuer (RFC 9728). */
export type ResourceVerification = {
  /** Fetches the metadata. Returns what is wrong, as a sentence for the owner of the resource, and the value of OWNER_MEMBER. */
  read(resource: Resource): Promise<{ problem?: string; namedOwner?: unknown }>;
  /** Fetches the metadata. Returns the resource as it is then, and what is wrong, as a sentence for its owner. */
  verify(resource: Resource): Promise<{ resource: Resource; problem?: string }>;
  /** Whether the URL of a resource is proved; tries it for one that is not, once a minute in each process. */
  isVerified(resource: Resource): Promise<boolean>;
};

export function createResourceVerification(options: {
  issuer: string;
  store: Pick<ResourceStore, 'noteVerified'>;
  outbound: Pick<Outbound, 'fetch'>;
  logger: Logger;
}): ResourceVerification {
  const issuer = identifierKeyOf(options.issuer);
  const attempts = new LRUCache<string, Promise<boolean>>(PAUSE);

  const read: ResourceVerification['read'] = async ({ id, identifierKey, owner }) => {
    const url = metadataUrl(identifierKey);
    let metadata: { resource?: unknown; authorization_servers?: unknown; [OWNER_MEMBER]?: unknown } | null;
    try {
      const response = await options.outbound.fetch(url, { headers: { accept: 'application/json' } });
      if (response.status !== 200) {
        await response.body?.cancel();
        throw new Error(`its server responded with the status ${response.status}`);
      }
      metadata = (await response.json()) as typeof metadata;
    } catch (err) {
      options.logger.info({ err, resource: id, url }, 'the metadata of a resource could not be read');
      return { problem: `The metadata of the resource could not be read at ${url}.` };
    }
    // §3.3
    if (identifierKeyOf(String(metadata?.resource)) !== identifierKey) {
      return { problem: `“resource” in the metadata at ${url} must be the identifier of this resource.` };
    }
    const servers = [metadata?.authorization_servers].flat().map((it) => identifierKeyOf(String(it)));
    if (!servers.includes(issuer)) {
      return { problem: `“authorization_servers” in the metadata at ${url} must contain ${options.issuer}.` };
    }
    const namedOwner = metadata?.[OWNER_MEMBER];
    if (namedOwner === undefined || namedOwner === owner) return { namedOwner };
    return { namedOwner, problem: `“${OWNER_MEMBER}” in the metadata at ${url} must be ${owner}.` };
  };

  async function verify(resource: Resource) {
    const { problem } = await read(resource);
    if (problem !== undefined) return { resource, problem };
    const verifiedAt = new Date();
    await options.store.noteVerified(resource.id, verifiedAt);
    return { resource: { ...resource, verifiedAt } };
  }

  return {
    read,
    verify,
    async isVerified(resource) {
      if (resource.verifiedAt !== null) return true;
      const attempt =
        attempts.get(resource.id) ?? verify(resource).then(({ problem }) => problem === undefined);
      attempts.set(resource.id, attempt, { noUpdateTTL: true });
      attempt.catch(() => attempts.delete(resource.id));
      return attempt;
    },
  };
}

/** The URL of the metadata of a resource (§3.1). */
function metadataUrl(identifier: string): string {
  const { origin, pathname } = new URL(identifier);
  return `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`;
}
