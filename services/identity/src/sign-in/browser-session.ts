import type { Logger } from '@gatehouse/kit/logger';
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { Account, Accounts } from '../accounts/account.ts';
import type { OfAccount, OidcStore } from '../oidc/oidc-adapter.ts';
import { isCurrent, type StampedSession, stamp } from '../oidc/sign-in-epochs.ts';

export type SignedIn = { session: StampedSession; account: Account };

export type BrowserSessions = {
  /** Who is signed in in this browser; undefined when nobody is. */
  find(ctx: Context): Promise<SignedIn | undefined>;
  /** Goes on after a password change, which ended every session before it, under a new id. */
  renew(ctx: Context, signedIn: SignedIn): Promise<void>;
  /**
   * Makes room for another account that has given its password here: the browser forgets the one before. Nobody
   * signed out, so what its applications were allowed stays. Tells whether there was one.
   */
  makeWayFor(ctx: Context, accountId: string): Promise<boolean>;
  /** Ends the session of this browser, as `end` does. */
  leave(ctx: Context, signedIn: SignedIn): Promise<void>;
  /** Ends one of the account's sessions and what was allowed in it, and tells the applications that listen. */
  end(accountId: string, uid: string): Promise<void>;
  /** Ends all but the one with this uid. */
  endOthers(accountId: string, uid: string): Promise<void>;
  /** The last used one first. */
  list(accountId: string): Promise<OfAccount[]>;
};

/** The sessions of browsers, which oidc-provider keeps, for our own pages. */
export function createBrowserSessions(options: {
  provider(): Provider;
  accounts: Accounts;
  store: OidcStore;
  /** In seconds. */
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
      const tell = client.backchannelLogout as (accountId: string, sid: string) => Promise<void>;
      // OpenID Connect Back-Channel Logout §2.5: that an application does not answer keeps nobody signed in here.
      tell.call(client, accountId, sid).catch((error: unknown) => {
        logger.warn({ err: error, client: clientId }, 'an application could not be told of a sign-out');
      });
    }
  }

  async function endWhere(accountId: string, which: (uid: unknown) => boolean): Promise<void> {
    for (const session of await store.sessionsOf(accountId)) {
      if (which(session.payload.uid)) await end(accountId, session);
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
      session.resetIdentifier();
      // What was allowed in it is over with the old password.
      session.authorizations = {};
      await stamp(session, account).save(lifetime);
      setCookie(ctx, session.jti);
    },
    async makeWayFor(ctx, accountId) {
      const session = await sessionOf(ctx);
      if (session.accountId === undefined || session.accountId === accountId) return false;
      return store.endSession(session.accountId, session.uid);
    },
    async leave(ctx, { account, session }) {
      await endWhere(account.id, (other) => other === session.uid);
      // A changed cookie also makes browsers drop the pages that they keep for going back.
      setCookie(ctx, null);
    },
    end: (accountId, uid) => endWhere(accountId, (other) => other === uid),
    endOthers: (accountId, uid) => endWhere(accountId, (other) => other !== uid),
    async list(accountId) {
      const lastUsed = ({ expiresAt }: OfAccount) => expiresAt?.getTime() ?? 0;
      const all = (await store.sessionsOf(accountId)).toSorted((a, b) => lastUsed(b) - lastUsed(a));
      // Two requests at once may have left one of them twice.
      return all.filter(
        ({ payload }, index) => all.findIndex((other) => other.payload.uid === payload.uid) === index,
      );
    },
  };
}
