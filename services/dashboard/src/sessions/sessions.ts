import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { Logger } from '@gatehouse/core/logger';
import { createSealer, deriveKeys, type KeyList, type Sealer } from '@gatehouse/core/sealing';
import type { Cause } from '../api/cause.ts';
import { type OAuthClient, type PendingSignIn, SignInEnded } from './oauth-client.ts';
import type { Person, Session, SessionStore, StoredSession, Tokens } from './session.ts';

export type Sessions = {
  /** Where to sign in, the `state` of the response, and the value of a cookie to come back with. */
  beginSignIn(returnTo: string, again: boolean): Promise<{ url: string; state: string; cookie: string }>;
  /**
   * Begins a session with the response to a sign-in; returns the value of its cookie, which is always a new one, and the
   * page to go on to. It takes the place of the session that the browser had before, by its cookie. Undefined when
   * `pending` does not belong to a sign-in that is under way. Throws SignInRefused.
   */
  finishSignIn(
    response: URL,
    cookies: { pending: string | undefined; session: string | undefined },
    cause: Cause,
  ): Promise<{ cookie: string; returnTo: string } | undefined>;
  /** The session of a cookie, with a token that is valid for a minute at least. Each use extends it. */
  find(cookie: string, cause: Cause, isUse?: boolean): Promise<Session | undefined>;
  /** The session with this id, for what goes on while nobody asks for a page. It is no use that extends it. */
  resume(id: string, cause: Cause): Promise<Session | undefined>;
  /** The same session with another token, as the one that it has was refused. Throws SignInEnded. */
  renew(session: Session, cause: Cause): Promise<Session>;
  /** Ends the session and its tokens. */
  end(session: Session, cause: Cause): Promise<void>;
  /** Keeps a text, such as a new secret, for the next view of a page; it can be taken once. */
  putFlash(session: Session, page: string, text: string): Promise<void>;
  /** The texts that were kept for a page, the oldest first. */
  takeFlashes(session: Session, page: string): Promise<string[]>;
  /** Keeps a page that refused a form, in place of any other of the session; returns the name by which it can be taken once. */
  putRefused(session: Session, page: RefusedPage): Promise<string>;
  takeRefused(session: Session, name: string): Promise<RefusedPage | undefined>;
};

/** A page that says what has to be corrected. */
export type RefusedPage = { status: number; html: string };

/** How long a sign-in may take, in milliseconds. */
const PENDING_MS = 10 * 60_000;
/** How long before its end a token is exchanged for a new one, in milliseconds. */
const MARGIN_MS = 60_000;
/** Writes that only extend a session are made this often, in milliseconds. */
const EXTEND_EVERY_MS = 60_000;
/** For each person. */
const MAX_SESSIONS = 20;

type Sealed = { person: Person; tokens: Tokens };

/** Sign-ins, with their tokens on the server. All replicas share them through the store. */
export function createSessions(options: {
  store: SessionStore;
  client: OAuthClient;
  masterKeys: KeyList;
  idleSeconds: number;
  sessionSeconds: number;
  logger: Logger;
}): Sessions {
  const { store, client, masterKeys, logger } = options;
  const sealer = createSealer(deriveKeys(masterKeys, 'dashboard sessions'));
  const signIns = createPendingSignIns(masterKeys);
  const [ownerKey] = deriveKeys(masterKeys, 'dashboard owners');

  const idOf = (cookie: string) => createHash('sha256').update(cookie).digest('base64url');
  const seal = (id: string, content: Sealed) => sealer.seal(JSON.stringify(content), id);
  const open = (id: string, sealed: string) => JSON.parse(sealer.open(sealed, id)) as Sealed;

  async function refresh(session: Session, cause: Cause): Promise<Session> {
    try {
      const next = await client.refresh(session.tokens, cause);
      await store.replace(session.id, seal(session.id, next));
      return { id: session.id, ...next };
    } catch (error) {
      if (error instanceof SignInEnded) await store.remove(session.id);
      throw error;
    }
  }

  const renew = shareRenewals(refresh);

  async function end(session: Session, cause: Cause): Promise<void> {
    await store.remove(session.id);
    await client.revoke(session.tokens, cause).catch((error: unknown) => {
      logger.warn({ err: error }, 'the tokens of a session could not be revoked; they expire');
    });
  }

  /** Ends what a browser had before. Of the same person it has the same grant, which the new session needs. */
  async function endEarlier(cookie: string, person: Person, cause: Cause): Promise<void> {
    const earlier = await read(idOf(cookie));
    if (earlier === undefined) return;
    if (earlier.session.person.id === person.id) await store.remove(earlier.session.id);
    else await end(earlier.session, cause);
  }

  async function read(id: string): Promise<{ stored: StoredSession; session: Session } | undefined> {
    const stored = await store.find(id);
    if (stored === undefined) return undefined;
    try {
      return { stored, session: { id, ...open(id, stored.sealed) } };
    } catch {
      // Sealed under a key that is no longer accepted.
      await store.remove(id);
      return undefined;
    }
  }

  async function find(id: string, cause: Cause, isUse: boolean): Promise<Session | undefined> {
    const found = await read(id);
    if (found === undefined) return undefined;
    const { stored, session } = found;
    const expiresAt = Math.min(Date.now() + options.idleSeconds * 1000, stored.endsAt.getTime());
    if (isUse && expiresAt - stored.expiresAt.getTime() > EXTEND_EVERY_MS)
      await store.extend(id, new Date(expiresAt));
    if (session.tokens.expiresAt - Date.now() > MARGIN_MS) return session;
    try {
      return await renew(session, cause);
    } catch (error) {
      if (error instanceof SignInEnded) return undefined;
      throw error;
    }
  }

  return {
    renew,
    find: (cookie, cause, isUse = true) => find(idOf(cookie), cause, isUse),
    resume: (id, cause) => find(id, cause, false),
    async beginSignIn(returnTo, again) {
      const { url, pending } = await client.begin(returnTo, again);
      return { url, state: pending.state, cookie: signIns.seal(pending) };
    },
    async finishSignIn(response, cookies, cause) {
      const pending = signIns.open(cookies.pending);
      if (pending === undefined || pending.state !== response.searchParams.get('state')) return undefined;
      const { person, tokens } = await client.finish(response, pending, cause);
      const value = randomBytes(32).toString('base64url');
      const id = idOf(value);
      const owner = createHmac('sha256', ownerKey).update(person.id).digest('base64url');
      const now = Date.now();
      await store.insert({
        id,
        owner,
        sealed: seal(id, { person, tokens }),
        createdAt: new Date(now),
        expiresAt: new Date(now + options.idleSeconds * 1000),
        endsAt: new Date(now + options.sessionSeconds * 1000),
      });
      await store.removeOldest(owner, MAX_SESSIONS);
      if (cookies.session !== undefined) await endEarlier(cookies.session, person, cause);
      return { cookie: value, returnTo: pending.returnTo };
    },
    end,
    ...createOncePages(store, sealer),
  };
}

/** Requests of one page that come at once refresh a token once. */
function shareRenewals(refresh: Sessions['renew']): Sessions['renew'] {
  const renewals = new Map<string, Promise<Session>>();
  return (session, cause) => {
    const running = renewals.get(session.id);
    if (running !== undefined) return running;
    const renewal = refresh(session, cause).finally(() => renewals.delete(session.id));
    renewals.set(session.id, renewal);
    return renewal;
  };
}

/** Sign-ins under way, each kept in a cookie of the browser, sealed. */
function createPendingSignIns(masterKeys: KeyList) {
  const sealer = createSealer(deriveKeys(masterKeys, 'dashboard sign-ins'));
  return {
    seal: (pending: PendingSignIn): string =>
      sealer.seal(JSON.stringify({ ...pending, expiresAt: Date.now() + PENDING_MS }), 'sign-in'),
    open(cookie: string | undefined): PendingSignIn | undefined {
      if (cookie === undefined) return undefined;
      try {
        const { expiresAt, ...pending } = JSON.parse(sealer.open(cookie, 'sign-in')) as PendingSignIn & {
          expiresAt: number;
        };
        return expiresAt > Date.now() ? pending : undefined;
      } catch {
        return undefined;
      }
    },
  };
}

/** The texts and pages that a session keeps for the next view of a page, sealed. */
function createOncePages(
  store: SessionStore,
  sealer: Sealer,
): Pick<Sessions, 'putFlash' | 'takeFlashes' | 'putRefused' | 'takeRefused'> {
  return {
    putFlash: ({ id }, page, text) => store.putFlash(id, page, sealer.seal(text, `${id} once ${page}`)),
    async putRefused({ id }, page) {
      const name = randomBytes(8).toString('base64url');
      await store.putRefused(id, { id: name, sealed: sealer.seal(JSON.stringify(page), `${id} refused`) });
      return name;
    },
    async takeRefused({ id }, name) {
      const sealed = await store.takeRefused(id, name);
      return sealed === undefined
        ? undefined
        : (JSON.parse(sealer.open(sealed, `${id} refused`)) as RefusedPage);
    },
    async takeFlashes({ id }, page) {
      const texts = await store.takeFlashes(id, page);
      return texts.map((sealed) => sealer.open(sealed, `${id} once ${page}`));
    },
  };
}
