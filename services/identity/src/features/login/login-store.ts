import { type Connection, Schema } from 'mongoose';
import type { Login, LoginStore } from './logins.ts';

const COLLECTION = 'api_logins';

type LoginDocument = {
  _id: string;
  account_id: string;
  token_id: string;
  epoch: number;
  address: string;
  user_agent: string | null;
  created_at: Date;
  renewed_at: Date;
  last_used_at: Date;
  expires_at: Date;
};

const schema = new Schema<LoginDocument>(
  {
    _id: { type: String, required: true },
    account_id: { type: String, required: true },
    token_id: { type: String, required: true },
    epoch: { type: Number, required: true },
    address: { type: String, required: true },
    user_agent: { type: String, default: null },
    created_at: { type: Date, required: true },
    renewed_at: { type: Date, required: true },
    last_used_at: { type: Date, required: true },
    expires_at: { type: Date, required: true },
  },
  { versionKey: false, strict: 'throw' },
);
schema.index({ account_id: 1, last_used_at: -1 });
schema.index({ expires_at: 1 });

/** Logins in MongoDB; defines its model on the connection. */
export function createLoginStore(connection: Connection): LoginStore {
  const logins = connection.model<LoginDocument>('ApiLogin', schema, COLLECTION);
  /** The sweeper comes late: what has expired does not count. */
  const unexpired = () => ({ expires_at: { $gt: new Date() } });
  return {
    collection: COLLECTION,
    async insert({ id, accountId, createdAt, expiresAt, ...renewal }) {
      await logins.create({
        _id: id,
        account_id: accountId,
        created_at: createdAt,
        expires_at: expiresAt,
        ...fieldsOf(renewal),
      });
    },
    async find(id) {
      const document = await logins.findOne({ _id: id, ...unexpired() }).lean();
      return document === null ? undefined : loginOf(document);
    },
    async renew(id, tokenId, renewal) {
      const filter = { _id: id, token_id: tokenId, ...unexpired() };
      return (await logins.updateOne(filter, { $set: fieldsOf(renewal) })).matchedCount === 1;
    },
    async used(id, at) {
      await logins.updateOne({ _id: id }, { $max: { last_used_at: at } });
    },
    async *of(accountId) {
      const filter = { account_id: accountId, ...unexpired() };
      for await (const it of logins.find(filter).sort({ last_used_at: -1 }).lean().cursor())
        yield loginOf(it);
    },
    async remove(id) {
      await logins.deleteOne({ _id: id });
    },
    async removeBelow(accountId, epoch) {
      await logins.deleteMany({ account_id: accountId, epoch: { $lt: epoch } });
    },
  };
}

function fieldsOf({
  tokenId,
  epoch,
  address,
  userAgent,
  renewedAt,
  lastUsedAt,
}: Parameters<LoginStore['renew']>[2]) {
  return {
    token_id: tokenId,
    epoch,
    address,
    user_agent: userAgent ?? null,
    renewed_at: renewedAt,
    last_used_at: lastUsedAt,
  };
}

function loginOf(document: LoginDocument): Login {
  return {
    id: document._id,
    accountId: document.account_id,
    tokenId: document.token_id,
    epoch: document.epoch,
    address: document.address,
    userAgent: document.user_agent ?? undefined,
    createdAt: document.created_at,
    renewedAt: document.renewed_at,
    lastUsedAt: document.last_used_at,
    expiresAt: document.expires_at,
  };
}
