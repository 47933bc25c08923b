import { newId } from '@gatehouse/core/ids';
import { defineCollection } from '@gatehouse/data/collection';
import type { Connection } from 'mongoose';

const COLLECTION = 'sign_in_generations';
/** Longer than a sign-in that has begun can be finished: an interaction lives for an hour. */
const KEEP_MS = 2 * 3600_000;

/**
 * The generation of an account's sign-ins changes when all its sessions end. A sign-in notes it before the password is
 * checked, and compares it when the session is stored: a password that was entered before does not become a session after.
 */
export type SignInGenerations = {
  collection: string;
  /** Undefined unless it has changed in the last hours. */
  current(accountId: string): Promise<string | undefined>;
  /** Durable when it resolves. */
  next(accountId: string): Promise<void>;
};

type GenerationDocument = { _id: string; generation: string; expires_at: Date };

/** In MongoDB; defines its collection on the connection. */
export function createSignInGenerations(connection: Connection): SignInGenerations {
  const generations = defineCollection<GenerationDocument>(connection, COLLECTION, [
    { fields: { expires_at: 1 } },
  ]);
  return {
    collection: COLLECTION,
    current: async (accountId) => (await generations.findOne({ _id: accountId }))?.generation,
    async next(accountId) {
      const changes = { generation: newId('gen'), expires_at: new Date(Date.now() + KEEP_MS) };
      await generations.updateOne({ _id: accountId }, { $set: changes }, { upsert: true });
    },
  };
}
