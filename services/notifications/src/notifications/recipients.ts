import { unavailable } from '@gatehouse/core/errors';
import type { InternalClient } from '@gatehouse/tokens/internal-client';
import { LRUCache } from 'lru-cache';

/** How long a user who existed is taken to exist, in milliseconds. */
const KEPT_MS = 60_000;
const MAX_KEPT = 10_000;

/** Where a person can be reached. Credentials with a lower epoch are revoked. */
export type Contacts = { email: string | null; phone: string | null; epoch: number };

/** The users who get notifications. */
export type Recipients = {
  /** Throws `unavailable` when the users service cannot be asked. */
  exists(id: string): Promise<boolean>;
  /** Never cached; undefined when the user no longer exists. Throws `unavailable`. */
  contactsOf(id: string): Promise<Contacts | undefined>;
};

/** Recipients by way of the internal routes of the users service, of which `internal` is a client. */
export function createRecipients(internal: InternalClient): Recipients {
  const known = new LRUCache<string, true>({ max: MAX_KEPT, ttl: KEPT_MS });
  return {
    async exists(id) {
      if (!/^[\w-]{1,64}$/.test(id)) return false;
      if (known.has(id)) return true;
      const { status, body } = await internal.request('GET', `/existence/${encodeURIComponent(id)}`);
      const { exists } = Object(body) as { exists?: unknown };
      if (status !== 200 || typeof exists !== 'boolean') {
        throw unavailable('The user cannot be checked at the moment.', unexpectedStatus(status));
      }
      if (exists) known.set(id, true);
      return exists;
    },

    async contactsOf(id) {
      const { status, body } = await internal.request('GET', `/contacts/${encodeURIComponent(id)}`);
      if (status === 404) return undefined;
      const { email, phone, epoch } = Object(body) as Partial<Contacts>;
      if (status !== 200 || email === undefined || phone === undefined || epoch === undefined) {
        throw unavailable('The address of the user cannot be read at the moment.', unexpectedStatus(status));
      }
      return { email, phone, epoch };
    },
  };
}

function unexpectedStatus(status: number): Error {
  return new Error(`users answered ${status}`);
}
