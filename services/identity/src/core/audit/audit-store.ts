import { leastIdAt } from '@gatehouse/core/ids';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { type DocumentCollection, defineCollection, type IndexDefinition } from '@gatehouse/data/collection';
import { createCounts } from '@gatehouse/data/counts';
import { MAX_QUERY_MS } from '@gatehouse/data/database';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { createListPlan } from '@gatehouse/data/list-plan';
import { createListSource } from '@gatehouse/data/list-source';
import { OUTBOX_INDEX, type OutboxEvent } from '@gatehouse/data/outbox';
import type { AuditAction } from '@gatehouse/domain/audit-actions';
import type { Condition, FilterOperator, ListQuery, ListSource } from '@gatehouse/domain/list-query';
import type { Connection } from 'mongoose';
import type { AuditField, AuditRecord, AuditStore } from './audit.ts';

/** Ids sort by time, which is the order of the log. */
type AuditDocument = {
  _id: string;
  action: AuditAction;
  at: Date;
  actor?: string;
  subject?: string;
  client?: string;
  address?: string;
  user_agent?: string;
  request_id?: string;
  login_hash?: string;
  details?: Record<string, unknown>;
  expires_at: Date;
  outbox?: OutboxEvent[];
  /** The destinations that have not accepted the entry. */
  export_to?: string[];
};

const COLLECTION = 'audit_log';

/** The entries that wait for a destination, in the order of the log. It is partial and contains no others. */
const EXPORT_INDEX = {
  fields: { export_to: 1, _id: 1 },
  options: { name: 'export', partialFilterExpression: { export_to: { $gt: '' } } },
} as const satisfies IndexDefinition;

/** The projection of reads: all fields. */
const FIELDS = {
  action: 1,
  at: 1,
  actor: 1,
  subject: 1,
  client: 1,
  address: 1,
  user_agent: 1,
  request_id: 1,
  login_hash: 1,
  details: 1,
  expires_at: 1,
} as const satisfies Record<Exclude<keyof AuditDocument, '_id' | 'outbox' | 'export_to'>, 1>;

type StoredField = Exclude<AuditField, 'at'>;
const text = (stored: string) => ({ stored, type: 'string' }) as const;
const plan = createListPlan<StoredField>({
  fields: {
    id: { stored: '_id', type: 'string', unique: true },
    subject: text('subject'),
    actor: text('actor'),
    client: text('client'),
    address: text('address'),
    action: text('action'),
  },
});

/**
 * The audit log in MongoDB; defines its collection on the connection. New entries wait for the destinations that are listed then.
 */
export function createAuditStore(connection: Connection, exportTo: readonly string[] = []): AuditStore {
  const indexes = [...plan.indexes, { fields: { expires_at: 1 } } as const, OUTBOX_INDEX, EXPORT_INDEX];
  const collection = defineCollection<AuditDocument>(connection, COLLECTION, indexes);
  const source = createListSource<StoredField, AuditDocument, AuditRecord>({
    collection: collection as unknown as DocumentCollection,
    plan,
    projection: FIELDS,
    read: recordOf,
    counts: createCounts(),
  });
  const markedDocumentOf = (record: AuditRecord): AuditDocument => ({
    ...documentOf(record),
    ...(exportTo.length > 0 && { export_to: [...exportTo] }),
  });
  return {
    collection: COLLECTION,
    async insert(record) {
      await collection.insertOne(markedDocumentOf(record)).catch((error: unknown) => {
        if (duplicateKeyField(error) !== '_id') throw error;
      });
    },
    async insertMany(records) {
      await collection.insertMany(records.map(markedDocumentOf), {
        ordered: false,
        writeConcern: { w: 1, journal: false },
      });
    },
    async waiting(destination, limit, after = '') {
      const options = { projection: FIELDS, sort: { _id: 1 }, limit, maxTimeMS: MAX_QUERY_MS } as const;
      const found = await collection.find({ export_to: destination, _id: { $gt: after } }, options).toArray();
      return found.map(recordOf);
    },
    async removeMark(destination, ids) {
      await collection.updateMany({ _id: { $in: [...ids] } }, { $pull: { export_to: destination } });
    },
    list: byIds(source),
    async lastSignIns(userIds) {
      const found = await Promise.all(
        userIds.map((subject) =>
          collection.findOne(
            { subject, action: 'sign_in.succeeded' },
            { projection: { subject: 1, at: 1 }, sort: { _id: -1 }, maxTimeMS: MAX_QUERY_MS },
          ),
        ),
      );
      return new Map(found.flatMap((entry) => (entry === null ? [] : [[String(entry.subject), entry.at]])));
    },
  };
}

/** The time of an entry is part of its id, so that one index finds what a person did, sorts it and limits the time. */
function byIds<T>(source: ListSource<StoredField, T>): ListSource<AuditField, T> {
  const translated = ({ conditions }: ListQuery<AuditField>): ListQuery<StoredField> => ({
    conditions: conditions.map(conditionOf).sort(rarerFirst),
    sort: { field: 'id', descending: true },
  });
  return {
    byOffset: (query, page) => source.byOffset(translated(query), page),
    byKeyset: (query, page) => source.byKeyset(translated(query), page),
    count: (conditions) => source.count(conditions.map(conditionOf)),
  };
}

const BOUNDS: Partial<Record<FilterOperator, { operator: FilterOperator; offset: number }>> = {
  gte: { operator: 'gte', offset: 0 },
  gt: { operator: 'gte', offset: 1 },
  lt: { operator: 'lt', offset: 0 },
  lte: { operator: 'lt', offset: 1 },
};

function conditionOf({ field, operator, values }: Condition<AuditField>): Condition<StoredField> {
  if (field !== 'at') return { field, operator, values };
  const bound = BOUNDS[operator];
  if (bound === undefined) throw new TypeError(`times are compared, not by ${operator}`);
  const at = new Date(Number(values[0]) + bound.offset);
  return { field: 'id', operator: bound.operator, values: [leastIdAt('aud', at)] };
}

/** The first equality chooses the index, and few actions are as rare as a person or an address. */
function rarerFirst(a: Condition<StoredField>, b: Condition<StoredField>): number {
  return Number(a.field === 'action') - Number(b.field === 'action');
}

function documentOf(record: AuditRecord): AuditDocument {
  const { id, origin, loginHash, expiresAt, details, published, ...rest } = record;
  const fields = {
    ...rest,
    address: origin?.address,
    request_id: origin?.requestId,
    user_agent: origin?.userAgent,
    login_hash: loginHash,
    details: details && omitUndefined({ ...details }),
  };
  const outbox = published === undefined ? {} : { outbox: [published] };
  return { ...omitUndefined(fields), _id: id, expires_at: expiresAt, ...outbox } as AuditDocument;
}

function recordOf(document: AuditDocument): AuditRecord {
  const { _id, address, user_agent, request_id, login_hash, expires_at, ...rest } = document;
  const origin = { address: address ?? '', userAgent: user_agent, requestId: request_id ?? '' };
  return {
    ...rest,
    id: _id,
    ...(request_id === undefined ? {} : { origin }),
    ...(login_hash === undefined ? {} : { loginHash: login_hash }),
    expiresAt: expires_at,
  };
}
