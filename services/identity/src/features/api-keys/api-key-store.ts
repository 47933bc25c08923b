import { insertInSlot } from '@gatehouse/data/slots';
import { type Connection, type InferSchemaType, Schema } from 'mongoose';
import { type ApiKey, type ApiKeyStore, MAX_KEYS } from './api-key.ts';

const COLLECTION = 'api_keys';

const schema = new Schema(
  {
    _id: { type: String, required: true },
    client_id: { type: String, required: true },
    owner: { type: String },
    /** From 0 to MAX_KEYS - 1, unique within an application, which limits its keys. Absent once the key is revoked. */
    slot: { type: Number },
    name: { type: String, required: true },
    scopes: { type: [String], required: true },
    hash: { type: String, required: true },
    last_four: { type: String, default: null },
    lifetime: { type: Number, default: null },
    created_at: { type: Date, required: true },
    expires_at: { type: Date, default: null },
    last_used_at: { type: Date, default: null },
    last_used_address: { type: String, default: null },
    rotated_to: { type: String, default: null },
    /** 1 from when it is revoked until the revocation has been written. */
    revocation_due: { type: Number },
  },
  { versionKey: false, strict: 'throw' },
);
type ApiKeyDocument = InferSchemaType<typeof schema>;
schema.index({ client_id: 1, slot: 1 }, { unique: true, partialFilterExpression: { slot: { $gte: 0 } } });
schema.index({ hash: 1 }, { unique: true });
schema.index({ expires_at: 1 });
schema.index({ revocation_due: 1 }, { sparse: true });

/** How many revoked keys one query returns. */
const BATCH = 100;
const NOT_REVOKED = { slot: { $gte: 0 } };

/** API keys in MongoDB; defines its model on the connection. */
export function createApiKeyStore(connection: Connection): ApiKeyStore & { collection: string } {
  const keys = connection.model<ApiKeyDocument>('ApiKey', schema, COLLECTION);

  const isUnexpired = ({ expires_at }: ApiKeyDocument) => expires_at == null || expires_at > new Date();

  return {
    collection: COLLECTION,

    async insert(key) {
      const ofApplication = { client_id: key.clientId, ...NOT_REVOKED };
      // The sweeper may not have removed them yet.
      await keys.deleteMany({ ...ofApplication, expires_at: { $lte: new Date() } });
      return insertInSlot({
        limit: MAX_KEYS,
        field: 'client_id',
        taken: () => keys.find(ofApplication, { slot: 1 }).lean(),
        insert: (slot) => keys.create({ ...documentOf(key), slot }),
      });
    },

    async list(clientId) {
      const documents = await keys.find({ client_id: clientId, ...NOT_REVOKED }).lean();
      return documents
        .filter(isUnexpired)
        .map(keyOf)
        .sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
    },

    async find(clientId, id) {
      const document = await keys.findOne({ _id: id, client_id: clientId, ...NOT_REVOKED }).lean();
      return document !== null && isUnexpired(document) ? keyOf(document) : undefined;
    },

    async findByHash(hash) {
      const document = await keys.findOne({ hash, ...NOT_REVOKED }).lean();
      return document !== null && isUnexpired(document) ? keyOf(document) : undefined;
    },

    async replace(key, successor, expiresAt) {
      const end = key.expiresAt !== null && key.expiresAt < expiresAt ? key.expiresAt : expiresAt;
      const { matchedCount } = await keys.updateOne(
        { _id: key.id, rotated_to: key.rotatedTo, ...NOT_REVOKED },
        { $set: { rotated_to: successor, expires_at: end } },
      );
      return matchedCount > 0;
    },

    async markRevoked(clientId, id) {
      // It may be repeated: a revocation that was interrupted is found and completed.
      const { matchedCount } = await keys.updateOne(
        { _id: id, client_id: clientId },
        { $set: { revocation_due: 1 }, $unset: { slot: 1 } },
      );
      return matchedCount > 0;
    },

    async revocationWritten(id) {
      await keys.deleteOne({ _id: id, revocation_due: 1 });
    },

    async awaitingRevocation() {
      const documents = await keys.find({ revocation_due: 1 }, { client_id: 1 }).limit(BATCH).lean();
      return documents.map(({ _id }) => _id);
    },

    async removeAll(clientId) {
      await keys.deleteMany({ client_id: clientId, ...NOT_REVOKED });
    },

    async used(id, { at, address }) {
      await keys.updateOne(
        { _id: id, last_used_at: { $not: { $gte: at } } },
        { $set: { last_used_at: at, last_used_address: address } },
      );
    },
  };
}

function documentOf(key: ApiKey): ApiKeyDocument {
  return {
    _id: key.id,
    client_id: key.clientId,
    ...(key.owner === undefined ? {} : { owner: key.owner }),
    name: key.name,
    scopes: [...key.scopes],
    hash: key.hash,
    last_four: key.lastFour,
    lifetime: key.lifetime,
    created_at: key.createdAt,
    expires_at: key.expiresAt,
    last_used_at: key.lastUse?.at ?? null,
    last_used_address: key.lastUse?.address ?? null,
    rotated_to: key.rotatedTo,
  };
}

function keyOf(document: ApiKeyDocument): ApiKey {
  return {
    id: document._id,
    clientId: document.client_id,
    owner: document.owner,
    name: document.name,
    scopes: document.scopes,
    hash: document.hash,
    lastFour: document.last_four ?? null,
    lifetime: document.lifetime ?? null,
    createdAt: document.created_at,
    expiresAt: document.expires_at ?? null,
    lastUse: document.last_used_at
      ? { at: document.last_used_at, address: document.last_used_address ?? null }
      : null,
    rotatedTo: document.rotated_to ?? null,
  };
}
