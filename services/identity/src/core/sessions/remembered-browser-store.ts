import { hash } from 'node:crypto';
import { defineCollection } from '@gatehouse/data/collection';
import type { Connection } from 'mongoose';
import {
  type Factors,
  type OfAccount,
  REMEMBERED_DAYS,
  type RememberedBrowsers,
} from './remembered-browser.ts';

const COLLECTION = 'remembered_browsers';
const DAY_MS = 86_400_000;

type BrowserDocument = {
  _id: string;
  user_id: string;
  /** The account's sign_in_epoch. */
  epoch: number;
  /** The ids of the account's second factors. */
  factors: string[];
  name: string;
  address: string;
  created_at: Date;
  last_used_at: Date;
  expires_at: Date;
};

/** In MongoDB; defines its collection on the connection. */
export function createRememberedBrowserStore(connection: Connection): RememberedBrowsers {
  const browsers = defineCollection<BrowserDocument>(connection, COLLECTION, [
    { fields: { user_id: 1, last_used_at: -1 } },
    { fields: { expires_at: 1 } },
  ]);
  const idOf = (browser: string, userId: string) =>
    hash('sha256', JSON.stringify([browser, userId]), 'base64url');
  const idsOf = (factors: Factors) => [...new Set(factors.map(({ credentialId }) => credentialId))];
  /** The sweeper comes late: what has expired does not count. */
  const current = ({ id, sign_in_epoch: epoch }: OfAccount) => ({
    user_id: id,
    epoch,
    expires_at: { $gt: new Date() },
  });
  return {
    collection: COLLECTION,
    async isRemembered(browser, account, factors) {
      const filter = { _id: idOf(browser, account.id), ...current(account), factors: idsOf(factors) };
      return (await browsers.updateOne(filter, { $set: { last_used_at: new Date() } })).matchedCount === 1;
    },
    async remember(browser, { id: user_id, sign_in_epoch: epoch }, { factors, name, address }) {
      const _id = idOf(browser, user_id);
      const now = new Date();
      const times = {
        created_at: now,
        last_used_at: now,
        expires_at: new Date(now.getTime() + REMEMBERED_DAYS * DAY_MS),
      };
      await browsers.updateOne(
        { _id },
        { $set: { user_id, epoch, factors: idsOf(factors), name, address, ...times } },
        { upsert: true },
      );
      return _id;
    },
    async list(account) {
      const documents = browsers.find(current(account)).sort({ last_used_at: -1 });
      return (await documents.toArray()).map(({ _id: id, name, address, created_at, last_used_at }) => {
        return { id, name, address, createdAt: created_at, lastUsedAt: last_used_at };
      });
    },
    async forget(user_id, _id) {
      await browsers.deleteOne({ _id, user_id });
    },
    async forgetAll(user_id, below = Number.MAX_SAFE_INTEGER) {
      await browsers.deleteMany({ user_id, epoch: { $lt: below } });
    },
  };
}
