import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { type Connection, Schema } from 'mongoose';
import type { KeyRing, KeyState, SigningKeyStore } from './signing-keys.ts';

/** As stored: the keys of one algorithm. */
type KeyRingDocument = {
  _id: KeyRing['algorithm'];
  version: number;
  keys: {
    kid: string;
    state: KeyState;
    sealed: string;
    created_at: Date;
    activated_at: Date | null;
    retired_at: Date | null;
  }[];
  dropped: { kid: string; dropped_at: Date }[];
};

const schema = new Schema<KeyRingDocument>(
  {
    _id: { type: String, required: true },
    version: { type: Number, required: true },
    keys: [
      {
        _id: false,
        kid: { type: String, required: true },
        state: { type: String, required: true },
        sealed: { type: String, required: true },
        created_at: { type: Date, required: true },
        activated_at: { type: Date, default: null },
        retired_at: { type: Date, default: null },
      },
    ],
    dropped: [
      { _id: false, kid: { type: String, required: true }, dropped_at: { type: Date, required: true } },
    ],
  },
  { versionKey: false, strict: 'throw' },
);

/** Signing keys in MongoDB, one document for each algorithm; defines its model on the connection. */
export function createSigningKeyStore(connection: Connection): SigningKeyStore {
  const rings = connection.model<KeyRingDocument>('KeyRing', schema, 'key_rings');
  return {
    async all() {
      return (await rings.find().lean()).map(ringOf);
    },
    async versions() {
      const documents = await rings.find({}, { version: 1 }).lean();
      return documents.map(({ _id, version }) => ({ algorithm: _id, version }));
    },
    async insertIfNone(ring) {
      try {
        await rings.create(documentOf(ring));
      } catch (error) {
        if (duplicateKeyField(error) === undefined) throw error;
      }
    },
    async replace(ring) {
      const { _id, ...fields } = documentOf(ring);
      const { matchedCount } = await rings.updateOne({ _id, version: ring.version - 1 }, { $set: fields });
      return matchedCount === 1;
    },
  };
}

function documentOf({ algorithm, version, keys, dropped }: KeyRing): KeyRingDocument {
  return {
    _id: algorithm,
    version,
    keys: keys.map(({ createdAt, activatedAt, retiredAt, ...key }) => ({
      ...key,
      created_at: createdAt,
      activated_at: activatedAt,
      retired_at: retiredAt,
    })),
    dropped: dropped.map(({ kid, droppedAt }) => ({ kid, dropped_at: droppedAt })),
  };
}

function ringOf({ _id, version, keys, dropped }: KeyRingDocument): KeyRing {
  return {
    algorithm: _id,
    version,
    keys: keys.map(({ created_at, activated_at, retired_at, ...key }) => ({
      ...key,
      createdAt: created_at,
      activatedAt: activated_at,
      retiredAt: retired_at,
    })),
    dropped: dropped.map(({ kid, dropped_at }) => ({ kid, droppedAt: dropped_at })),
  };
}
