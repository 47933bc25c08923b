import type { AdapterPayload } from 'oidc-provider';
import type { Audit, AuditEntry } from '../audit/audit.ts';
import type { OfAccount, OidcStore } from '../oidc/adapter/oidc-adapter.ts';
import { CLI_CLIENT } from '../oidc/clients/client-metadata.ts';
import type { Logout, SignOuts } from '../oidc/epochs/sign-outs.ts';
import type { ProgramSessions } from './program-sessions.ts';
import type { RememberedBrowsers } from './remembered-browser.ts';
import type { SignInGenerations } from './sign-in-generations.ts';

/** The entry of the audit log for an end. */
type Entry = Pick<AuditEntry, 'action' | 'origin' | 'actor' | 'details'>;
type Authorization = { sid?: string; consentEpoch?: number };

/**
 * The one place in which sessions end, whatever ends them: with the session, the grants made in it, and with them their
 * tokens; applications that listen are notified, by jobs; and it is recorded. Durable when it resolves.
 */
export type SessionEnds = SignOuts & {
  /** Ends a session, or a login at the API, of the account. Returns whether there was one. */
  end(accountId: string, id: string, entry: Entry): Promise<boolean>;
  /** The same for those sessions that match, and for grants that have outlived the sign-out of one. */
  endSessions(accountId: string, matches: (session: OfAccount) => boolean, entry: Entry): Promise<void>;
  /** The same, and ends all sign-ins under way. The session with the uid `keep` remains. */
  endSignIns(
    accountId: string,
    matches: (session: OfAccount) => boolean,
    entry: Entry,
    keep?: string,
  ): Promise<void>;
  /** Ends the sign-ins of the command line, whosever they are, that were allowed in sessions that match. */
  endCommandLines(matches: (session: OfAccount) => boolean, entry: Entry): Promise<void>;
  endLogins(accountId: string, ids: readonly string[], entry: Entry): Promise<void>;
  /**
   * Ends all sessions, logins and grants of the account, also grants whose session is gone and sign-ins under way, and forgets the
   * browsers that are remembered. What is signed in by `keep` remains.
   */
  endAll(accountId: string, entry: Entry, keep?: KeptSession): Promise<void>;
  /** Ends what is older than a change of the account, which is recorded by itself. */
  endBelow(
    accountId: string,
    below: { epoch: number; signInEpoch: number; isRevocation?: boolean },
  ): Promise<void>;
};

export type KeptSession = { uid: string; authorizations?: Readonly<Record<string, { grantId?: string }>> };

type Options = {
  store: Pick<
    OidcStore,
    | 'sessionsOf'
    | 'grantsOf'
    | 'grantsOfClient'
    | 'endSession'
    | 'endGrant'
    | 'endGrantsBelow'
    | 'endGrantsOfSession'
    | 'keepOfflineGrants'
  >;
  programs: readonly Pick<ProgramSessions, 'end' | 'endAll' | 'endBelow'>[];
  logoutListeners: readonly ((logout: Logout) => Promise<void>)[];
  generations: Pick<SignInGenerations, 'current' | 'next'>;
  remembered: Pick<RememberedBrowsers, 'forgetAll'>;
  audit: Pick<Audit, 'record'>;
};

export function createSessionEnds(options: Options): SessionEnds {
  const { store, programs, logoutListeners, generations, remembered, audit } = options;

  async function endOfProgram(accountId: string, id: string): Promise<boolean> {
    for (const { end } of programs) if (await end(accountId, id)) return true;
    return false;
  }

  /**
   * When several calls end a session at the same time, only one notifies its applications. `keep` runs before the grants are deleted, and
   * can keep some. Returns the account of the session.
   */
  async function endSession(
    uid: string,
    accountId?: string,
    keep?: (session: AdapterPayload) => Promise<void>,
  ): Promise<string | undefined> {
    const ended = await store.endSession(uid, accountId);
    if (ended?.accountId === undefined) return undefined;
    await keep?.(ended);
    await store.endGrantsOfSession(ended.accountId, uid);
    const authorizations = Object.entries((ended.authorizations ?? {}) as Record<string, Authorization>);
    for (const [clientId, { sid, consentEpoch = 0 }] of authorizations) {
      if (sid === undefined) continue;
      const logout = { clientId, accountId: ended.accountId, sid, consentEpoch };
      for (const notify of logoutListeners) await notify(logout);
    }
    return ended.accountId;
  }

  const endSessions: SessionEnds['endSessions'] = async (accountId, matches, entry) => {
    let isEnded = false;
    for await (const session of store.sessionsOf(accountId)) {
      if (!matches(session)) continue;
      await endSession(session.id, accountId);
      isEnded = true;
    }
    const grants = await endGrants(store, store.grantsOf(accountId), matches);
    if (isEnded || grants.length > 0) await audit.record({ ...entry, subject: accountId });
  };

  return {
    async signOut(uid, by, keepsOfflineAccess = false) {
      const keep = (session: AdapterPayload) => store.keepOfflineGrants(session, by.client);
      const subject = await endSession(uid, undefined, keepsOfflineAccess ? keep : undefined);
      if (subject !== undefined) await audit.record({ action: 'sign_out', subject, ...by });
    },
    endGrantsOfSession: store.endGrantsOfSession,
    isOver: async ({ accountId, generation }) => (await generations.current(accountId)) !== generation,
    async discard(uid) {
      await endSession(uid);
    },
    async end(accountId, id, entry) {
      const ended = (await endSession(id, accountId)) !== undefined || (await endOfProgram(accountId, id));
      if (!ended) return false;
      // A command line that somebody connected in it would keep them signed in.
      await endGrants(store, ofCommandLine(store.grantsOf(accountId)), ({ payload }) => payload.uid === id);
      await audit.record({ ...entry, subject: accountId });
      return true;
    },
    endSessions,
    async endCommandLines(matches, entry) {
      for (const { accountId: subject } of await endGrants(store, store.grantsOfClient(CLI_CLIENT), matches))
        await audit.record({ ...entry, subject });
    },
    async endSignIns(accountId, matches, entry, keep) {
      // First: a sign-in that is under way is either found here, or finds that it has come too late.
      await generations.next(accountId);
      await endSessions(accountId, (session) => session.id !== keep && matches(session), entry);
    },
    async endLogins(accountId, ids, entry) {
      for (const id of ids) await endOfProgram(accountId, id);
      await audit.record({ ...entry, subject: accountId });
    },
    async endAll(accountId, entry, keep) {
      const kept = new Set(Object.values(keep?.authorizations ?? {}).map(({ grantId }) => grantId));
      // First: a sign-in that is under way is either found here, or finds that it has come too late.
      await generations.next(accountId);
      await remembered.forgetAll(accountId);
      for (const program of programs) await program.endAll(accountId);
      for await (const { id } of store.sessionsOf(accountId)) {
        if (id !== keep?.uid) await endSession(id, accountId);
      }
      for await (const { id } of store.grantsOf(accountId)) if (!kept.has(id)) await store.endGrant(id);
      await audit.record({ ...entry, subject: accountId });
    },
    async endBelow(accountId, { epoch, signInEpoch, isRevocation = false }) {
      // As in endAll: the password of a sign-in that is under way was entered before.
      if (isRevocation) await generations.next(accountId);
      await remembered.forgetAll(accountId, signInEpoch);
      for await (const { id } of store.sessionsOf(accountId, signInEpoch)) await endSession(id, accountId);
      await store.endGrantsBelow(accountId, signInEpoch);
      for (const program of programs) await program.endBelow(accountId, epoch);
    },
  };
}

/** Ends those of grants that outlive a sign-out whose sessions match. Returns them. */
async function endGrants<G extends OfAccount>(
  store: Pick<OidcStore, 'endGrant'>,
  grants: AsyncIterable<G>,
  matches: (session: OfAccount) => boolean,
): Promise<G[]> {
  const ended: G[] = [];
  for await (const grant of grants) {
    if (grant.session === undefined || !matches({ ...grant, payload: grant.session })) continue;
    await store.endGrant(grant.id);
    ended.push(grant);
  }
  return ended;
}

async function* ofCommandLine(grants: AsyncIterable<OfAccount>): AsyncIterable<OfAccount> {
  for await (const grant of grants) if (grant.payload.clientId === CLI_CLIENT) yield grant;
}
