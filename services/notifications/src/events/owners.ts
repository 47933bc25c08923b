import { unavailable } from '@gatehouse/core/errors';
import { createBatches } from '@gatehouse/data/batches';
import type { InternalClient } from '@gatehouse/tokens/internal-client';
import { isRole } from '@gatehouse/tokens/scopes';
import type { Revocation } from '@gatehouse/verify/revocations';
import { LRUCache } from 'lru-cache';
import type { OwnedCredential, Owner, Standing } from './reading-rights.ts';

/** How long a response of identity is cached, in milliseconds, unless a revocation comes before. */
const KEPT_MS = 10_000;
const MAX_KEPT = 10_000;
/** Identity takes no more in a request. */
const MAX_ASKED = 100;

/** The owners of applications, by way of the internal routes of identity, of which `identity` is a client. */
export function createOwners(identity: InternalClient) {
  const known = new LRUCache<string, Owner>({ max: MAX_KEPT, ttl: KEPT_MS });

  const ask = createBatches<string, Owner>({
    max: MAX_ASKED,
    async run(ids) {
      const { status, body } = await identity.request('POST', '/owned-applications', { ids });
      const { owners } = Object(body) as { owners?: unknown[] };
      const read = owners?.map(readOwner);
      if (status === 200 && read?.length === ids.length) return read;
      throw unavailable(
        'Your applications cannot be listed at the moment.',
        new Error(`identity answered ${status}`),
      );
    },
  });

  /** The questions that have no answer yet. */
  const asked = new Map<string, Promise<Owner>>();

  async function findNow(id: string): Promise<Owner> {
    const asking = ask(id);
    asked.set(id, asking);
    const isLast = () => asked.get(id) === asking;
    try {
      const owner = await asking;
      // Not what was asked before a revocation.
      if (isLast()) known.set(id, owner);
      return owner;
    } finally {
      if (isLast()) asked.delete(id);
    }
  }

  return {
    find: async (id: string): Promise<Owner> => known.get(id) ?? asked.get(id) ?? findNow(id),
    /** As identity says now, which is kept. */
    findNow,
    /** Asks identity again after the rights of a person or an application have changed, whoever owns it, or a key has ended. */
    revoked({ kind, id }: Pick<Revocation, 'kind' | 'id'>): void {
      if (kind === 'client' || kind === 'api_key') known.clear();
      else if (kind !== 'subject') return;
      for (const [key, { person, standing }] of known.entries()) {
        if ([key, person, standing.owner].includes(id)) known.delete(key);
      }
      // A request under way may return the rights from before.
      asked.clear();
    },
  };
}

function readOwner(given: unknown): Owner {
  const answer = Object(given) as Record<string, unknown>;
  const { role, person, client_ids: clientIds, visible_client_ids: visibleIds, scopes } = answer;
  const standing = readStanding(given);
  const isKnown = role === null || role === 'machine' || isRole(role);
  if (
    isKnown &&
    (person === null || typeof person === 'string') &&
    isTexts(clientIds) &&
    isTexts(visibleIds) &&
    isTexts(scopes) &&
    standing !== undefined
  ) {
    return { role, person, clientIds, visibleIds, scopes, standing };
  }
  throw unavailable('Your applications cannot be listed at the moment.', new Error('unexpected owner'));
}

/** Undefined for what is none. */
function readStanding(given: unknown): Standing | undefined {
  const { owner, epochs, credentials } = Object(given) as Record<string, unknown>;
  const { recovery, authority } = Object(epochs) as Record<string, unknown>;
  const isKnown = owner === null || typeof owner === 'string';
  if (!isKnown || typeof recovery !== 'number' || typeof authority !== 'number') return undefined;
  if (!Array.isArray(credentials)) return undefined;
  return { owner, recovery, authority, credentials: credentials.flatMap(readCredential) };
}

function readCredential(given: unknown): OwnedCredential[] {
  const { ids, given_by: giver, epoch, role, scopes } = Object(given) as Record<string, unknown>;
  const isKnown =
    isTexts(ids) &&
    isTexts(scopes) &&
    (giver === null || typeof giver === 'string') &&
    typeof epoch === 'number' &&
    (role === 'machine' || isRole(role));
  return isKnown ? [{ ids, giver, epoch, role, scopes }] : [];
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((it) => typeof it === 'string');
