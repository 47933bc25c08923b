import { defineCollection } from '@gatehouse/data/collection';
import type { Connection } from 'mongoose';
import type { RequestCounts, VerifierDescription } from './verifier.ts';

/** A verifier that a replica has recorded. Its times of a test are by the database's clock, which all replicas share. */
export type Verifier = VerifierDescription & {
  isConnected: boolean;
  /** The beginning of a connection without a pause of more than a minute. */
  connectedAt: Date;
  seenAt: Date;
  behindMs: number;
  requests: RequestCounts | undefined;
  test: { id: string; begunAt: Date; sentAt: Date | undefined; appliedAt: Date | undefined } | undefined;
};

export type VerifierStore = {
  collection: string;
  /** Records one that connects. Beyond the bound, those of the resource that were seen longest ago are forgotten. */
  put(resource: string, verifier: VerifierDescription, connection: string): Promise<void>;
  /** Records those that are still connected. */
  touch(
    seen: readonly { resource: string; id: string; connection: string; behindMs: number }[],
  ): Promise<void>;
  /** Ends a connection, unless there is a newer one. */
  close(resource: string, id: string, connection: string): Promise<void>;
  list(resource: string): Promise<Verifier[]>;
  /** Begins a test, in place of the one before. */
  beginTest(resource: string, test: string): Promise<void>;
  /** Notes that the revocation of the current test was sent to a verifier, or applied by it. */
  noteTest(resource: string, id: string, test: string, step: 'sent' | 'applied'): Promise<void>;
  /** Notes the requests that a verifier has verified since its start. One that is not recorded is none. */
  noteRequests(resource: string, id: string, requests: RequestCounts): Promise<void>;
};

type VerifierDocument = {
  _id: string;
  resource: string;
  verifier: VerifierDescription;
  /** Absent once it is closed. */
  connection?: string;
  connected_at: Date;
  seen_at: Date;
  behind_ms: number;
  requests?: RequestCounts;
  expires_at: Date;
  test?: string;
  test_begun_at?: Date;
  test_sent_at?: Date;
  test_applied_at?: Date;
};

/** The connection of a verifier that reads JSON. */
export const POLLING = 'polling';
const MAX_OF_RESOURCE = 100;
const LIFETIME_MS = 5 * 60_000;
/** More than two records of a connected one are apart. */
const CONNECTED_MS = 70_000;

/** The verifiers in MongoDB; defines their collection on the connection. */
export function createVerifierStore(connection: Connection): VerifierStore {
  const collection = 'verifiers';
  const verifiers = defineCollection<VerifierDocument>(connection, collection, [
    { fields: { resource: 1, seen_at: -1 } },
    { fields: { expires_at: 1 } },
  ]);
  const idOf = (resource: string, id: string) => `${resource} ${id}`;
  const seenNow = () => ({ seen_at: new Date(), expires_at: new Date(Date.now() + LIFETIME_MS) });
  return {
    collection,
    async put(resource, verifier, connection) {
      const _id = idOf(resource, verifier.id);
      const now = new Date();
      const paused = { _id, seen_at: { $lt: new Date(now.getTime() - CONNECTED_MS) } };
      await verifiers.updateOne(paused, { $set: { connected_at: now } });
      const { upsertedCount } = await verifiers.updateOne(
        { _id },
        {
          $set: { resource, verifier, connection, behind_ms: 0, ...seenNow() },
          $setOnInsert: { connected_at: now },
        },
        { upsert: true },
      );
      if (upsertedCount === 0) return;
      const oldest = await verifiers.find({ resource }).sort({ seen_at: -1 }).skip(MAX_OF_RESOURCE).toArray();
      if (oldest.length > 0) await verifiers.deleteMany({ _id: { $in: oldest.map((it) => it._id) } });
    },
    async touch(seen) {
      if (seen.length === 0) return;
      const updates = seen.map(({ resource, id, connection, behindMs }) => ({
        updateOne: {
          filter: { _id: idOf(resource, id) },
          update: { $set: { connection, behind_ms: behindMs, ...seenNow() } },
        },
      }));
      await verifiers.bulkWrite(updates, { ordered: false });
    },
    async close(resource, id, connection) {
      const ended = { $unset: { connection: 1 }, $set: { seen_at: new Date() } } as const;
      await verifiers.updateOne({ _id: idOf(resource, id), connection }, ended);
    },
    async list(resource) {
      const found = verifiers.find({ resource, expires_at: { $gt: new Date() } });
      return (await found.sort({ connected_at: 1, _id: 1 }).limit(MAX_OF_RESOURCE).toArray()).map(read);
    },
    async beginTest(resource, test) {
      await verifiers.updateMany(
        { resource },
        {
          $set: { test },
          $currentDate: { test_begun_at: true },
          $unset: { test_sent_at: 1, test_applied_at: 1 },
        },
      );
    },
    async noteTest(resource, id, test, step) {
      const field = `test_${step}_at` as const;
      const first = { _id: idOf(resource, id), test, [field]: { $exists: false } };
      await verifiers.updateOne(first, { $currentDate: { [field]: true } });
    },
    async noteRequests(resource, id, requests) {
      await verifiers.updateOne({ _id: idOf(resource, id) }, { $set: { requests } });
    },
  };
}

function read(document: VerifierDocument): Verifier {
  const { verifier, connection, connected_at: connectedAt, seen_at: seenAt } = document;
  const silentMs = Math.max(0, Date.now() - seenAt.getTime());
  const isConnected = connection !== undefined && silentMs < CONNECTED_MS;
  const { test: id, test_begun_at: begunAt, test_sent_at: sentAt, test_applied_at: appliedAt } = document;
  return {
    ...{ ...verifier, isConnected, connectedAt, seenAt },
    behindMs: isConnected && connection !== POLLING ? document.behind_ms : silentMs,
    requests: document.requests,
    test: id === undefined || begunAt === undefined ? undefined : { id, begunAt, sentAt, appliedAt },
  };
}
