import { type Collection, type Connection, Schema } from 'mongoose';
import type { AuditAction, AuditRecord, AuditStore } from './audit.ts';

/** Ids sort by time, which is the order of the log. */
type AuditDocument = {
  _id: string;
  action: AuditAction;
  at: Date;
  subject?: string;
  client?: string;
  address?: string;
  user_agent?: string;
  request_id?: string;
  login_hash?: string;
  details?: Record<string, unknown>;
  expires_at: Date;
};

const COLLECTION = 'audit_log';

const schema = new Schema<AuditDocument>(
  {
    _id: { type: String, required: true },
    action: { type: String, required: true },
    at: { type: Date, required: true },
    subject: { type: String },
    client: { type: String },
    address: { type: String },
    user_agent: { type: String },
    request_id: { type: String },
    login_hash: { type: String },
    details: { type: Schema.Types.Mixed },
    expires_at: { type: Date, required: true },
  },
  { versionKey: false, strict: 'throw' },
);
schema.index({ subject: 1, _id: -1 });
schema.index({ client: 1, _id: -1 });
schema.index({ expires_at: 1 });

/** The audit log in MongoDB; defines its model on the connection. */
export function createAuditStore(connection: Connection): AuditStore {
  const entries = connection.model<AuditDocument>('AuditEntry', schema, COLLECTION);
  const collection = entries.collection as unknown as Collection<AuditDocument>;
  return {
    collection: COLLECTION,
    async insert(record) {
      await entries.create(documentOf(record));
    },
    async insertMany(records) {
      await collection.insertMany(records.map(documentOf), {
        ordered: false,
        writeConcern: { w: 1, journal: false },
      });
    },
    async list({ by, before, limit }) {
      const documents = await entries
        .find({ ...by, ...(before === undefined ? {} : { _id: { $lt: before } }) })
        .sort({ _id: -1 })
        .limit(limit)
        .lean();
      return documents.map(recordOf);
    },
  };
}

function documentOf({ id, origin, loginHash, expiresAt, details, ...rest }: AuditRecord): AuditDocument {
  return {
    ...rest,
    _id: id,
    ...(origin === undefined ? {} : { address: origin.address, request_id: origin.requestId }),
    ...(origin?.userAgent === undefined ? {} : { user_agent: origin.userAgent }),
    ...(loginHash === undefined ? {} : { login_hash: loginHash }),
    ...(details === undefined ? {} : { details: { ...details } }),
    expires_at: expiresAt,
  };
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
