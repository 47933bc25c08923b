import type { Connection } from 'mongoose';
import { defineCollection } from './collection.ts';
import { duplicateKeyField } from './duplicate-key.ts';

/** The collection of the keys. The sweeper removes expired ones. */
export const IDEMPOTENCY_KEYS = 'idempotency_keys';

type KeyDocument = {
  _id: string;
  fingerprint: string;
  /** The attempt that holds the key, until its lease ends. */
  holder: string;
  lease_until: Date;
  reserved_id: string;
  /** The response. */
  answer?: string;
  expires_at: Date;
};

/** A key may be inserted or deleted between two steps, but hardly this many times in a row. */
const MAX_ATTEMPTS = 5;

/** Stores idempotency keys. It gets hashes and ciphertext only. */
export type IdempotencyStore = ReturnType<typeof createIdempotencyStore>;

/** Idempotency keys in MongoDB. */
export function createIdempotencyStore(connection: Connection) {
  const index = { fields: { expires_at: 1 }, options: { name: 'expires_at_1' } } as const;
  const keys = defineCollection<KeyDocument>(connection, IDEMPOTENCY_KEYS, [index]);

  return {
    /**
     * Claims a key for the holder until the lease ends. The result: the key is now theirs, another attempt runs, it has another
     * fingerprint, or it has a response. An existing key with the same fingerprint and without a response is taken over after its lease;
     * the id is then the one that was reserved first.
     */
    async claim(claim: {
      id: string;
      fingerprint: string;
      holder: string;
      reservedId: string;
      now: Date;
      leaseUntil: Date;
      expiresAt: Date;
    }) {
      const { id, fingerprint, holder, reservedId, now, leaseUntil, expiresAt } = claim;
      const fields = {
        fingerprint,
        holder,
        lease_until: leaseUntil,
        reserved_id: reservedId,
        expires_at: expiresAt,
      };
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        try {
          await keys.insertOne({ _id: id, ...fields });
          return { state: 'claimed' as const, reservedId, isRetry: false };
        } catch (error) {
          if (duplicateKeyField(error) !== '_id') throw error;
        }
        const found = await keys.findOne({ _id: id });
        if (found === null) continue;
        // The sweeper may not have removed it yet.
        const expired = found.expires_at <= now;
        if (!expired) {
          if (found.fingerprint !== fingerprint) return { state: 'reused' as const };
          if (found.answer !== undefined) return { state: 'done' as const, response: found.answer };
          if (found.lease_until > now) return { state: 'running' as const };
        }
        // Conditional on the holder that was read, so that only one of several attempts takes over.
        const taken = await keys.updateOne(
          { _id: id, holder: found.holder, lease_until: found.lease_until, expires_at: found.expires_at },
          expired ? { $set: fields, $unset: { answer: '' } } : { $set: { holder, lease_until: leaseUntil } },
        );
        if (taken.modifiedCount === 0) continue;
        return expired
          ? { state: 'claimed' as const, reservedId, isRetry: false }
          : { state: 'claimed' as const, reservedId: found.reserved_id, isRetry: true };
      }
      return { state: 'running' as const };
    },

    /** Stores the response, if the holder still has the key. */
    async complete(done: { id: string; holder: string; response: string; expiresAt: Date }) {
      const { id, holder, response, expiresAt } = done;
      await keys.updateOne({ _id: id, holder }, { $set: { answer: response, expires_at: expiresAt } });
    },

    /** Ends the holder's lease; with `forget`, deletes the key and its reserved id. */
    async release(done: { id: string; holder: string; now: Date; forget: boolean }) {
      const { id, holder, now, forget } = done;
      if (forget) await keys.deleteOne({ _id: id, holder });
      else await keys.updateOne({ _id: id, holder }, { $set: { lease_until: now } });
    },
  };
}
