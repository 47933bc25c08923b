import { newId } from '@gatehouse/core/ids';
import { date, type EntityOf, id, number, text } from '@gatehouse/domain/fields';
import type { Origin } from '../../core/audit/audit.ts';
import type { RevocationEntry } from '../../core/revocations/revocations.ts';
import type { ProgramSessions } from '../../core/sessions/program-sessions.ts';

/** The client_id of tokens that are issued by a login at the API. */
export const LOGIN_CLIENT = 'gatehouse-login';

/** For how many seconds after the login its token can be renewed. */
export const MAX_LOGIN_AGE = 30 * 86_400;

/** How many logins of an account are listed at most. */
const MAX_LISTED = 200;

/**
 * A login at the API, and the token that it was renewed to last. Its id is the `gid` of all of its tokens, by which they
 * are revoked together. Its address is where it was last renewed from, or made; requests to other services are not seen as
 * uses until the token is renewed.
 */
export const LOGIN = {
  id: id(),
  accountId: text(),
  /** The `jti` of the only token that can be renewed. */
  tokenId: text(),
  /** The account's epoch when that token was issued; with a higher one, the login is over. */
  epoch: number(),
  address: text(),
  userAgent: text().optional(),
  createdAt: date(),
  renewedAt: date(),
  /** To the minute. */
  lastUsedAt: date(),
  expiresAt: date(),
};
export type Login = EntityOf<typeof LOGIN>;

/** The changes of a login by a new token. */
export type Renewal = Pick<Login, 'tokenId' | 'epoch' | 'address' | 'userAgent' | 'renewedAt' | 'lastUsedAt'>;

/** The store of logins. Writes are durable when they resolve. */
export type LoginStore = {
  collection: string;
  insert(login: Login): Promise<void>;
  /** Finds none that has expired. */
  find(id: string): Promise<Login | undefined>;
  /** Renews it if this is still its token; of several concurrent calls, one gets true. Never brings one back. */
  renew(id: string, tokenId: string, renewal: Renewal): Promise<boolean>;
  used(id: string, at: Date): Promise<void>;
  /** All of an account that have not expired; the last used one first. */
  of(accountId: string): AsyncIterable<Login>;
  remove(id: string): Promise<void>;
  removeBelow(accountId: string, epoch: number): Promise<void>;
};

export type Logins = ProgramSessions & {
  /** An id for a login that begins; `begin` stores it. */
  newId(): string;
  begin(login: { id: string; account: Account; tokenId: string }, origin: Origin): Promise<void>;
  /** Makes another token the login's only one; false when the old one no longer is, or the login has ended. */
  renew(
    old: { id: string; tokenId: string },
    next: { account: Account; tokenId: string },
    origin: Origin,
  ): Promise<boolean>;
  /**
   * Somebody has tried to renew this token, which is no longer its login's: ends the login, as it may have been stolen
   * (RFC 9700 §4.14.2). Within REUSE_GRACE it may be the same program twice. Returns whether it ended.
   */
  reused(old: { id: string; tokenId: string }): Promise<boolean>;
};

type Account = { id: string; epoch: number };

/** For how many seconds a token that was renewed may come again without ending the login. */
const REUSE_GRACE = 10;

/** Logins at the API, whose tokens are renewed one after the other. `recordUse` need not be exact. */
export function createLogins(options: {
  store: LoginStore;
  revocations: { write(entries: readonly RevocationEntry[]): Promise<void> };
  recordUse(id: string): void;
}): Logins {
  const { store, revocations } = options;

  /** Revoked first: after a crash in between, it can be ended again. */
  async function end(id: string): Promise<void> {
    await revocations.write([{ kind: 'grant', id }]);
    await store.remove(id);
  }

  function renewalOf(account: Account, tokenId: string, { address, userAgent }: Origin): Renewal {
    const now = new Date();
    return { tokenId, epoch: account.epoch, address, userAgent, renewedAt: now, lastUsedAt: now };
  }

  return {
    clientId: LOGIN_CLIENT,
    clientName: 'Login by the API',
    newId: () => newId('lgn'),
    async begin({ id, account, tokenId }, origin) {
      const renewal = renewalOf(account, tokenId, origin);
      const expiresAt = new Date(renewal.renewedAt.getTime() + MAX_LOGIN_AGE * 1000);
      await store.insert({
        id,
        accountId: account.id,
        createdAt: renewal.renewedAt,
        expiresAt,
        ...renewal,
      });
    },
    async renew(old, { account, tokenId }, origin) {
      const renewed = await store.renew(old.id, old.tokenId, renewalOf(account, tokenId, origin));
      if (renewed) await revocations.write([{ kind: 'token', id: old.tokenId }]);
      return renewed;
    },
    async reused({ id, tokenId }) {
      const login = await store.find(id);
      if (login === undefined || login.tokenId === tokenId) return false;
      if (Date.now() - login.renewedAt.getTime() < REUSE_GRACE * 1000) return false;
      await end(id);
      return true;
    },
    used: options.recordUse,
    exists: async (id) => (await store.find(id)) !== undefined,
    async list({ id, epoch }) {
      const logins: Login[] = [];
      for await (const login of store.of(id)) {
        if (login.epoch >= epoch) logins.push(login);
        if (logins.length === MAX_LISTED) break;
      }
      return logins;
    },
    async end(accountId, id) {
      const login = await store.find(id);
      if (login?.accountId !== accountId) return false;
      await end(id);
      return true;
    },
    async endAll(accountId) {
      for await (const { id } of store.of(accountId)) await end(id);
    },
    endBelow: store.removeBelow,
  };
}
