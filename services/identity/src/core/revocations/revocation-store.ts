import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { date, type EntityOf, number, type StoredOf, text, value } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { EVERY_RESOURCE } from './revocation.ts';

const REVOCATION = {
  kind: text(),
  id: text().stored('ref'),
  epoch: number().optional(),
  /** When the last token it can affect has expired. */
  expiresAt: date(),
  /** By the database's clock, which all replicas share. */
  updatedAt: date(),
  /** The ids of the resources of others that read of it, or EVERY_RESOURCE. */
  resources: value<readonly string[]>().optional(),
  /** Counts the writes, so that announcing an earlier one does not pass for announcing a later one. */
  revision: number(),
};
export type StoredRevocation = EntityOf<typeof REVOCATION>;

export type RevocationStore = {
  collection: string;
  /** Keeps the higher epoch and the later expiry of the stored and the new revocation. Durable when it resolves. */
  put(entry: Omit<StoredRevocation, 'updatedAt' | 'revision'>): Promise<StoredRevocation>;
  /** The revocations that have not been announced since they were written, at most a few hundred. */
  pending(): Promise<StoredRevocation[]>;
  announced(entry: StoredRevocation): Promise<void>;
  /** Lets the owners of these resources read of it, and of no other. Counts as a write of it. */
  noteResources(entry: StoredRevocation, resources: readonly string[]): Promise<void>;
  /** The unexpired ones of these. */
  find(entries: readonly Pick<StoredRevocation, 'kind' | 'id'>[]): Promise<StoredRevocation[]>;
  /** Tokens are being issued that have expired at this time. */
  issuingUntil(time: Date): Promise<void>;
  /** The latest time that a replica has given to issuingUntil(), whether it still runs or not. */
  lastExpiry(): Promise<Date | undefined>;
  /** The unexpired ones that concern a resource and were written last, the latest first. */
  recent(resource: string, limit: number): Promise<StoredRevocation[]>;
  /**
   * The next unexpired ones in the order in which they were written last: from a time on, after another, or all; with `resource`, those
   * that concern it, or with `*` any.
   */
  page(query: {
    from?: Date;
    after?: Pick<StoredRevocation, 'kind' | 'id' | 'updatedAt'>;
    resource?: string | undefined;
    limit: number;
  }): Promise<StoredRevocation[]>;
  /** When one was written last, of all or of those that concern a resource; undefined when there is none. */
  lastUpdate(resource?: string): Promise<Date | undefined>;
};

const COLLECTION = 'revocations';
const BATCH = 500;

/** One document for each thing that is revoked. */
type RevocationDocument = StoredOf<typeof REVOCATION> & {
  _id: string;
  /** 1 until it has been announced. */
  pending?: 1;
};
const { read } = createDocumentMapper(REVOCATION);

/** A single document. */
type IssuedTokens = { _id: string; last_expiry: Date };
const ISSUED_ID = 'access_tokens';

/** The revocations in MongoDB; defines its collections on the connection. */
export function createRevocationStore(connection: Connection): RevocationStore {
  const revocations = defineCollection<RevocationDocument>(connection, COLLECTION, [
    { fields: { expires_at: 1 } },
    { fields: { updated_at: 1, _id: 1 } },
    { fields: { pending: 1 }, options: { sparse: true } },
    {
      fields: { resources: 1, updated_at: 1, _id: 1 },
      options: { partialFilterExpression: { resources: { $exists: true } } },
    },
  ]);
  const issuedTokens = defineCollection<IssuedTokens>(connection, 'issued_tokens', []);
  return {
    collection: COLLECTION,
    async put({ kind, id, epoch, resources, expiresAt }) {
      const document = await revocations.findOneAndUpdate(
        { _id: `${kind}:${id}` },
        {
          $set: { kind, ref: id, pending: 1, ...omitUndefined({ resources }) },
          $max: { expires_at: expiresAt, ...omitUndefined({ epoch }) },
          $currentDate: { updated_at: true },
          $inc: { revision: 1 },
        },
        { upsert: true, returnDocument: 'after' },
      );
      return read(document as RevocationDocument);
    },
    async pending() {
      const pending = revocations.find({ pending: 1 }, { sort: { pending: 1 }, limit: BATCH });
      return (await pending.toArray()).map(read);
    },
    async announced({ kind, id, revision }) {
      await revocations.updateOne({ _id: `${kind}:${id}`, revision }, { $unset: { pending: 1 } });
    },
    async noteResources({ kind, id }, resources) {
      await revocations.updateOne(
        { _id: `${kind}:${id}` },
        { $set: { resources }, $currentDate: { updated_at: true } },
      );
    },
    async find(entries) {
      const ids = entries.map(({ kind, id }) => `${kind}:${id}`);
      const found = revocations.find({ _id: { $in: ids }, expires_at: { $gt: new Date() } });
      return (await found.toArray()).map(read);
    },
    async issuingUntil(time) {
      await issuedTokens.updateOne({ _id: ISSUED_ID }, { $max: { last_expiry: time } }, { upsert: true });
    },
    async lastExpiry() {
      return (await issuedTokens.findOne({ _id: ISSUED_ID }))?.last_expiry;
    },
    async page({ from, after, resource, limit }) {
      const documents = await revocations
        .find({
          ...(from === undefined ? {} : { updated_at: { $gte: from } }),
          ...(after === undefined ? {} : laterThan(after)),
          expires_at: { $gt: new Date() },
          ...concerning(resource),
        })
        .sort({ updated_at: 1, _id: 1 })
        .limit(limit)
        .toArray();
      return documents.map(read);
    },
    async recent(resource, limit) {
      const found = revocations.find({ expires_at: { $gt: new Date() }, ...concerning(resource) });
      return (await found.sort({ updated_at: -1, _id: -1 }).limit(limit).toArray()).map(read);
    },
    async lastUpdate(resource) {
      const last = await revocations.findOne(concerning(resource), {
        projection: { updated_at: 1 },
        sort: { updated_at: -1, _id: -1 },
      });
      return last?.updated_at;
    },
  };
}

function laterThan({ kind, id, updatedAt }: Pick<StoredRevocation, 'kind' | 'id' | 'updatedAt'>) {
  return {
    $or: [{ updated_at: { $gt: updatedAt } }, { updated_at: updatedAt, _id: { $gt: `${kind}:${id}` } }],
  };
}

function concerning(resource: string | undefined) {
  if (resource === undefined) return {};
  return { resources: resource === '*' ? { $exists: true } : { $in: [resource, EVERY_RESOURCE] } };
}
