import { duplicateKeyField } from '@gatehouse/mongo/duplicate-key';
import { type Connection, Schema } from 'mongoose';
import type { SigningAlgorithm, SigningKeyStore } from './signing-keys.ts';

type SigningKeyDocument = {
  _id: string;
  algorithm: SigningAlgorithm;
  state: 'current';
  sealed: string;
  created_at: Date;
};

const schema = new Schema<SigningKeyDocument>(
  {
    _id: { type: String, required: true },
    algorithm: { type: String, required: true },
    state: { type: String, required: true },
    sealed: { type: String, required: true },
    created_at: { type: Date, required: true },
  },
  { versionKey: false, strict: 'throw' },
);
schema.index({ algorithm: 1 }, { unique: true, partialFilterExpression: { state: 'current' } });

/** Signing keys in MongoDB, at most one current key for each algorithm. */
export function createSigningKeyStore(connection: Connection): SigningKeyStore {
  const keys = connection.model<SigningKeyDocument>('SigningKey', schema, 'signing_keys');
  return {
    async all() {
      const documents = await keys.find().sort({ created_at: -1 }).lean();
      return documents.map(({ _id, created_at, ...rest }) => ({ ...rest, kid: _id, createdAt: created_at }));
    },
    async insertIfNone({ kid, createdAt, ...rest }) {
      try {
        await keys.create({ ...rest, _id: kid, created_at: createdAt });
      } catch (error) {
        if (duplicateKeyField(error) === undefined) throw error;
      }
    },
  };
}
