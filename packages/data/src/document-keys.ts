import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask, type PeriodicTask } from '@gatehouse/core/periodic';
import type { IdempotencyKey } from '@gatehouse/domain/idempotency-key';
import type { DocumentCollection, IndexDefinition } from './collection.ts';

const SWEEP_MS = 60_000;

/** The indexes of a collection whose documents hold the Idempotency-Keys that created them. */
export const IDEMPOTENCY_INDEXES: readonly IndexDefinition[] = [
  {
    fields: { 'idempotency.key': 1 },
    options: {
      name: 'idempotency_key',
      unique: true,
      partialFilterExpression: { 'idempotency.key': { $gt: '' } },
    },
  },
  {
    fields: { 'idempotency.expires_at': 1 },
    options: {
      name: 'idempotency_expires_at',
      partialFilterExpression: { 'idempotency.expires_at': { $gt: new Date(0) } },
    },
  },
];
/** The field that duplicateKeyField returns when a key is taken. */
export const IDEMPOTENCY_FIELD = 'idempotency.key';

/** The field of a new document that holds the key of the request; none without a key. */
export function idempotencyFields(key: IdempotencyKey | undefined) {
  if (key === undefined) return {};
  const { id, fingerprint, expiresAt } = key;
  return { idempotency: { key: id, fingerprint, expires_at: expiresAt } };
}

/**
 * Idempotency-Keys that are stored in the documents that they created, which have the IDEMPOTENCY_INDEXES and the
 * idempotencyFields. A key goes with its document, and after its time the sweeper removes it from the document.
 *
 * @param options.projection the fields of the documents that `find` returns
 */
export function createDocumentKeys<D extends { _id: string }>(
  collection: DocumentCollection,
  options: { projection: Readonly<Record<string, 1>>; logger: Logger },
): {
  /** The document with this key; `reused` if it was created by a request with another body; undefined for none. */
  find(key: IdempotencyKey): Promise<{ state: 'reused' } | { state: 'found'; document: D } | undefined>;
  sweeper: PeriodicTask;
} {
  const projection = { ...options.projection, idempotency: 1 };

  function forget(filter: Record<string, unknown>) {
    return collection.updateMany(
      { ...filter, 'idempotency.expires_at': { $gt: new Date(0), $lte: new Date() } },
      { $unset: { idempotency: '' } },
    );
  }

  return {
    async find({ id, fingerprint }) {
      const document = await collection.findOne<
        D & { idempotency: { fingerprint: string; expires_at: Date } }
      >({ 'idempotency.key': id }, { projection });
      if (document === null) return undefined;
      const { idempotency } = document;
      if (idempotency.expires_at <= new Date()) {
        await forget({ 'idempotency.key': id });
        return undefined;
      }
      return idempotency.fingerprint === fingerprint ? { state: 'found', document } : { state: 'reused' };
    },
    sweeper: createPeriodicTask({
      run: () => forget({}),
      everyMs: SWEEP_MS,
      onError: (error) =>
        options.logger.warn({ err: error }, 'expired keys were not removed; the next sweep will'),
    }),
  };
}
