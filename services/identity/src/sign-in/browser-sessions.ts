import { randomUUID } from 'node:crypto';
import type { Logger } from '@gatehouse/kit/logger';
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { Account, Accounts } from '../accounts/account.ts';
import type { OfAccount, OidcStore } from '../oidc/oidc-adapter.ts';
import { type Device, isCurrent, type StampedSession, stamp } from '../oidc/sign-in-epochs.ts';

export type SignedIn = { session: StampedSession; account: Account };

/** How many sessions of an account are listed at most. */
export const MAX_LISTED = 200;

/** One of an account's sessions. */
export type ListedSession = { uid: string; device: Device | undefined; signedInAt: Date; lastSeenAt: Date };

export type BrowserSessions = {
  /** Who is signed in in this browser; undefined when nobody is. */
  find(ctx: Context): Promise<SignedIn | undefined>;
  /** Begins another session after a password change, which ended every earlier one. */
  renew(ctx: Context, signedIn: SignedIn): Promise<void>;
  /** Makes the browser forget another account, which keeps its grants. Returns whether it was signed in. */
  switchAccount(ctx: Context, accountId: string): Promise<boolean>;
  /** Ends the session of this browser, as `end` does. */
  endCurrent(ctx: Context, signedIn: SignedIn): Promise<void>;
  /**
   * Ends one of the account's sessions and the grants made in it, and notifies the applications that listen. Returns
   * whether there was one.
   */
  end(accountId: string, uid: string): Promise<boolean>;
  endAll(accountId: string): Promise<void>;
  /** Ends those that match, however many there are. */
  endWhere(accountId: string, matches: (session: ListedSession) => boolean): Promise<void>;
  /** Ends all but the one with this uid. */
  endOthers(accountId: string, uid: string): Promise<void>;
  /** The last used MAX_LISTED. */
  list(accountId: string): Promise<ListedSession[]>;
};

/** The sessions of browsers, which oidc-provider keeps, for our own pages. `lifetime` is in seconds of disuse. */
export function createBrowserSessions(options: {
  provider(): Provider;
  accounts: Pick<Accounts, 'find'>;
  store: OidcStore;
  lifetime: number;
  logger: Logger;
}): BrowserSessions {
  const { accounts, store, lifetime, logger } = options;

  async function end(accountId: string, { payload }: OfAccount): Promise<void> {
    const provider = options.provider();
    await store.endSession(accountId, String(payload.uid));
    const authorizations = (payload.authorizations ?? {}) as Record<
      string,
      { sid?: string; grantId?: string }
    >;
    for (const [clientId, { sid, grantId }] of Object.entries(authorizations)) {
      if (grantId !== undefined) await store.endGrant(grantId);
      const client = await provider.Client.find(clientId);
      if (client?.backchannelLogoutUri === undefined || sid === undefined) continue;
      const notify = client.backchannelLogout as (accountId: string, sid: string) => Promise<void>;
      // OpenID Connect Back-Channel Logout §2.5: an application that does not answer must not delay the sign-out.
      notify.call(client, accountId, sid).catch((error: unknown) => {
        logger.warn({ err: error, client: clientId }, 'an application could not be notified of a sign-out');
      });
    }
  }

  async function endOne(accountId: string, uid: string): Promise<boolean> {
    let found = false;
    for await (const session of store.sessionsOf(accountId, uid)) {
      await end(accountId, session);
      found = true;
    }
    return found;
  }

  async function endAllBut(accountId: string, uid?: string): Promise<void> {
    for await (const session of store.sessionsOf(accountId)) {
      if (session.id !== uid) await end(accountId, session);
    }
  }

  const sessionOf = async (ctx: Context) =>
    (await options.provider().Session.get(ctx as never)) as StampedSession;

  function setCookie(ctx: Context, value: string | null): void {
    ctx.cookies.set(options.provider().cookieName('session'), value, {
      signed: true,
      httpOnly: true,
      sameSite: 'lax',
      secure: ctx.secure,
      overwrite: true,
      ...(value === null ? {} : { expires: new Date(Date.now() + lifetime * 1000) }),
    });
  }

  function listed({ payload, expiresAt }: OfAccount): ListedSession {
    const device = payload.device as Device | undefined;
    return {
      uid: String(payload.uid),
      device,
      signedInAt: new Date(device?.signedInAt ?? Number(payload.loginTs) * 1000),
      // Each use moves its end.
      lastSeenAt: new Date((expiresAt?.getTime() ?? Date.now()) - lifetime * 1000),
    };
  }

  return {
    async find(ctx) {
      const session = await sessionOf(ctx);
      if (session.accountId === undefined) return undefined;
      const account = await accounts.find(session.accountId);
      if (account === undefined || account.status !== 'active' || !isCurrent(session, account))
        return undefined;
      return { session, account };
    },
    async renew(ctx, { session, account }) {
      await store.endSession(account.id, session.uid);
      session.uid = randomUUID();
      session.resetIdentifier();
      // The grants made in it ended with the old password.
      session.authorizations = {};
      await stamp(session, account).save(lifetime);
      setCookie(ctx, session.jti);
    },
    async switchAccount(ctx, accountId) {
      const session = await sessionOf(ctx);
      if (session.accountId === undefined || session.accountId === accountId) return false;
      return store.endSession(session.accountId, session.uid);
    },
    async endCurrent(ctx, { account, session }) {
      await endOne(account.id, session.uid);
      // A changed cookie also makes browsers drop the pages that they keep for going back.
      setCookie(ctx, null);
    },
    end: endOne,
    endAll: (accountId) => endAllBut(accountId),
    async endWhere(accountId, matches) {
      for await (const session of store.sessionsOf(accountId)) {
        if (matches(listed(session))) await end(accountId, session);
      }
    },
    endOthers: endAllBut,
    async list(accountId) {
      const sessions: ListedSession[] = [];
      for await (const session of store.sessionsOf(accountId)) {
        sessions.push(listed(session));
        if (sessions.length === MAX_LISTED) break;
      }
      return sessions;
    },
  };
}
