import { newId } from '@gatehouse/core/ids';
import { type Connection, Schema } from 'mongoose';

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

const schema = new Schema<GenerationDocument>(
  {
    _id: { type: String, required: true },
    generation: { type: String, required: true },
    expires_at: { type: Date, required: true },
  },
  { versionKey: false, strict: 'throw' },
);
schema.index({ expires_at: 1 });

/** In MongoDB; defines its model on the connection. */
export function createSignInGenerations(connection: Connection): SignInGenerations {
  const generations = connection.model<GenerationDocument>('SignInGeneration', schema, COLLECTION);
  return {
    collection: COLLECTION,
    current: async (accountId) => (await generations.findById(accountId).lean())?.generation,
    async next(accountId) {
      const changes = { generation: newId('gen'), expires_at: new Date(Date.now() + KEEP_MS) };
      await generations.updateOne({ _id: accountId }, { $set: changes }, { upsert: true });
    },
  };
}
