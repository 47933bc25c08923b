import { LRUCache } from 'lru-cache';
import type { Account, Accounts } from './account.ts';

export type AccountCache = {
  /** The account as it was at most five seconds ago. */
  find(id: string): Promise<Account | undefined>;
  /** The account has changed. */
  forget(id: string): void;
};

/**
 * The givers of standing capabilities (ADR 41), of which each use would otherwise ask the users service. A change of the account removes it
 * from the cache. A token by client credentials carries the epoch of the owner's account: if that has changed in the meantime, the
 * revocation of the change ends the token. No other token does, and none may be issued by an account that is cached here.
 */
export function createAccountCache(accounts: Pick<Accounts, 'find'>): AccountCache {
  const cache = new LRUCache<string, Account>({ max: 1000, ttl: 5000 });
  let forgotten = 0;

  return {
    async find(id) {
      const known = cache.get(id);
      if (known !== undefined) return known;
      const before = forgotten;
      const account = await accounts.find(id);
      // An account that was read while a change arrived may be the one before the change.
      if (account !== undefined && forgotten === before) cache.set(id, account);
      return account;
    },
    forget(id) {
      forgotten += 1;
      cache.delete(id);
    },
  };
}
