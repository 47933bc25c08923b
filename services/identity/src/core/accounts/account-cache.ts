import { LRUCache } from 'lru-cache';
import type { Account, Accounts } from './account.ts';

export type AccountCache = {
  /** The account as it was at most five seconds ago. */
  find(id: string): Promise<Account | undefined>;
  /** The account as it is; find() knows it from then on. */
  findNow(id: string): Promise<Account | undefined>;
  /** The account has changed. */
  forget(id: string): void;
};

/**
 * Accounts for token requests, which would otherwise ask the users service each time. What is issued for an account that has
 * changed in the meantime has the epoch of before, so that the revocation of the change ends it.
 */
export function createAccountCache(accounts: Pick<Accounts, 'find'>): AccountCache {
  const cache = new LRUCache<string, Account>({ max: 1000, ttl: 5000 });
  let forgotten = 0;

  async function findNow(id: string): Promise<Account | undefined> {
    const before = forgotten;
    const account = await accounts.find(id);
    // What was read while a change came may be what was there before the change.
    if (account === undefined || forgotten !== before) cache.delete(id);
    else cache.set(id, account);
    return account;
  }

  return {
    find: async (id) => cache.get(id) ?? findNow(id),
    findNow,
    forget(id) {
      forgotten += 1;
      cache.delete(id);
    },
  };
}
