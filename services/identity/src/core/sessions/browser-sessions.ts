import { randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { errors } from 'oidc-provider';
import type { BrowserCookie } from '../../pages/browser-cookie.ts';
import type { Account, Accounts } from '../accounts/account.ts';
import { originOf } from '../audit/audit.ts';
import type { OfAccount, OidcStore } from '../oidc/adapter/oidc-adapter.ts';
import { type Device, isCurrent, type StampedSession, stamp } from '../oidc/epochs/sign-in-epochs.ts';
import type { ListedSession } from './program-sessions.ts';
import type { SessionEnds } from './session-ends.ts';

export type SignedIn = { session: StampedSession; account: Account };

/** How many sessions of an account are listed at most. */
export const MAX_LISTED = 200;

export type BrowserSessions = {
  /** The account that is signed in in this browser; undefined if none. */
  find(ctx: Context): Promise<SignedIn | undefined>;
  /** Begins another session after a password change, which ended every earlier one. */
  renew(ctx: Context, signedIn: SignedIn): Promise<void>;
  /**
   * Adds to the session what its owner has just proved, beside all that it took to get here: methods of RFC 8176. Returns false if
   * the account is not signed in any longer.
   */
  addFactors(ctx: Context, accountId: string, amr: readonly string[]): Promise<boolean>;
  /** Signs another account out of the browser. Returns whether it was signed in. */
  switchAccount(ctx: Context, accountId: string): Promise<boolean>;
  /** Makes the browser forget its session, which has ended. */
  forget(ctx: Context): void;
  /** The last used MAX_LISTED. */
  list(accountId: string): Promise<ListedSession[]>;
};

/** The sessions of browsers, which oidc-provider keeps, for our own pages. `lifetime` is in seconds of disuse. */
export function createBrowserSessions(options: {
  provider(): Provider;
  accounts: Pick<Accounts, 'find'>;
  store: Pick<OidcStore, 'sessionsOf'>;
  sessionEnds: Pick<SessionEnds, 'signOut' | 'discard'>;
  browser: Pick<BrowserCookie, 'rememberDevice'>;
  lifetime: number;
}): BrowserSessions {
  const { accounts, store, sessionEnds, lifetime } = options;

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
      id: String(payload.uid),
      address: device?.address,
      userAgent: device?.userAgent,
      createdAt: new Date(device?.signedInAt ?? Number(payload.loginTs) * 1000),
      // Each use moves its end.
      lastUsedAt: new Date((expiresAt?.getTime() ?? Date.now()) - lifetime * 1000),
    };
  }

  async function find(ctx: Context): Promise<SignedIn | undefined> {
    const session = await sessionOf(ctx);
    if (session.accountId === undefined) return undefined;
    const account = await accounts.find(session.accountId);
    if (account === undefined || account.status !== 'active' || !isCurrent(session, account))
      return undefined;
    return { session, account };
  }

  return {
    find,
    async renew(ctx, { session, account }) {
      await sessionEnds.discard(session.uid);
      session.uid = randomUUID();
      session.resetIdentifier();
      session.authorizations = {};
      await stamp(session, account).save(lifetime);
      setCookie(ctx, session.jti);
      options.browser.rememberDevice(ctx, account);
    },
    async addFactors(ctx, accountId, amr) {
      const { session } = (await find(ctx)) ?? {};
      if (session?.accountId !== accountId) return false;
      session.amr = [...new Set([...(session.amr ?? []), ...amr, 'mfa'])];
      return session.persist().then(
        () => true,
        (error: unknown) => {
          // It has ended meanwhile.
          if (error instanceof errors.SessionNotFound) return false;
          throw error;
        },
      );
    },
    async switchAccount(ctx, accountId) {
      const session = await sessionOf(ctx);
      if (session.accountId === undefined || session.accountId === accountId) return false;
      await sessionEnds.signOut(session.uid, { origin: originOf(ctx) });
      return true;
    },
    // A changed cookie also makes browsers drop the pages that they keep for going back.
    forget: (ctx) => setCookie(ctx, null),
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
