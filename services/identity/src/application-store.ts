import { duplicateKeyField } from '@gatehouse/mongo/duplicate-key';
import { type Connection, Schema } from 'mongoose';
import type { Application, ApplicationStore, ApplicationType } from './application.ts';

type ApplicationDocument = {
  _id: string;
  name: string;
  type: ApplicationType;
  owner: string | null;
  trusted: boolean;
  scopes: string[];
  secrets: { id: string; hash: string; created_at: Date }[];
  epoch: number;
  created_at: Date;
};

const schema = new Schema<ApplicationDocument>(
  {
    _id: { type: String, required: true },
    name: { type: String, required: true },
    type: { type: String, required: true },
    owner: { type: String, default: null },
    trusted: { type: Boolean, required: true },
    scopes: { type: [String], required: true },
    secrets: {
      type: [{ _id: false, id: { type: String }, hash: { type: String }, created_at: { type: Date } }],
      required: true,
    },
    epoch: { type: Number, required: true },
    created_at: { type: Date, required: true },
  },
  { versionKey: false, strict: 'throw' },
);
schema.index({ owner: 1, _id: 1 });

/** How long a read may be answered from memory, in milliseconds. */
const CACHE_AGE = 5000;
const CACHE_SIZE = 1000;

/** Applications in MongoDB, read through a cache of seconds, as every token request needs one. */
export function createApplicationStore(connection: Connection): ApplicationStore {
  const applications = connection.model<ApplicationDocument>('Application', schema, 'applications');
  const cache = new Map<string, { application: Application; until: number }>();

  return {
    async insertIfAbsent({ id, owner, secrets, createdAt, ...rest }) {
      try {
        await applications.create({
          ...rest,
          _id: id,
          owner,
          scopes: [...rest.scopes],
          secrets: secrets.map((secret) => ({
            id: secret.id,
            hash: secret.hash,
            created_at: secret.createdAt,
          })),
          created_at: createdAt,
        });
        return true;
      } catch (error) {
        if (duplicateKeyField(error) === '_id') return false;
        throw error;
      }
    },

    async findById(id) {
      const cached = cache.get(id);
      if (cached !== undefined && cached.until > Date.now()) return cached.application;
      const document = await applications.findById(id).lean();
      cache.delete(id);
      if (document === null) return undefined;
      const application = applicationOf(document);
      if (cache.size >= CACHE_SIZE) cache.clear();
      cache.set(id, { application, until: Date.now() + CACHE_AGE });
      return application;
    },
  };
}

function applicationOf({ _id, secrets, created_at, ...rest }: ApplicationDocument): Application {
  return {
    ...rest,
    id: _id,
    secrets: secrets.map(({ id, hash, created_at: createdAt }) => ({ id, hash, createdAt })),
    createdAt: created_at,
  };
}
