import { hash, randomBytes } from 'node:crypto';
import { date, type EntityOf, number, object, oneOf, text } from '@gatehouse/domain/fields';
import { GIVEN } from '../authority/given.ts';

/** The purpose of a link; `end_credentials` is not mailed, but in a form of the page that follows `new_password`. */
export const LINK_PURPOSES = [
  'new_password',
  'verify_email',
  'undo_email_change',
  'undo_change',
  'stop_recovery',
  'remove_factors',
  'set_up_sign_in',
  'end_credentials',
] as const;
export type LinkPurpose = (typeof LINK_PURPOSES)[number];

/**
 * The data that a link refers to. For a new password and the verification of an address, its user must compare `email` and `epoch`
 * with the account's: a change voids the link.
 */
export const LINK = {
  userId: text(),
  /** The address it was sent to. */
  email: text(),
  /** The account's sign_in_epoch when it was made. */
  epoch: number(),
  expiresAt: date(),
  /** Of a link that undoes a change: how the mail calls it, and the id of the method that it removed, if it did. */
  change: text().default(null),
  method: text().default(null),
  /** For a link to set up a sign-in again: the admin who made it. */
  given: object(GIVEN).optional(),
};
export type OneTimeLink = EntityOf<typeof LINK>;

/** A link as it is stored: by the hash of its token. */
export const STORED_LINK = { ...LINK, purpose: oneOf(LINK_PURPOSES), tokenHash: text() };
export type StoredLink = EntityOf<typeof STORED_LINK>;

export type OneTimeLinkStore = {
  collection: string;
  /**
   * Replaces the person's earlier one of the same purpose, but none to undo a change other than of the address, and none to stop a
   * recovery.
   * Durable when it resolves.
   */
  put(link: StoredLink): Promise<void>;
  /** The same, unless there is a later one by now. */
  restore(link: StoredLink): Promise<void>;
  /** Finds none that has expired. */
  find(purpose: LinkPurpose, tokenHash: string): Promise<OneTimeLink | undefined>;
  /** Finds and removes it. One of several concurrent calls gets it. */
  take(purpose: LinkPurpose, tokenHash: string): Promise<OneTimeLink | undefined>;
  /** Removes all links of a person. */
  removeAllOf(userId: string): Promise<void>;
};

export type LinkDraft = Omit<OneTimeLink, 'expiresAt' | 'change' | 'method' | 'given'> &
  Partial<Pick<OneTimeLink, 'change' | 'method' | 'given'>> & { purpose: LinkPurpose; seconds: number };

export type OneTimeLinks = {
  /** Makes a link that works once, within `seconds`, and returns its token. Voids the earlier one of this purpose. */
  issue(draft: LinkDraft): Promise<string>;
  /** The data of a link, without consuming it; undefined when it is unknown, used or expired. */
  peek(purpose: LinkPurpose, token: string): Promise<OneTimeLink | undefined>;
  /** The same, and the link no longer works. */
  consume(purpose: LinkPurpose, token: string): Promise<OneTimeLink | undefined>;
  /** Makes a link that was consumed to no effect work again, for the rest of its time. */
  restore(purpose: LinkPurpose, token: string, link: OneTimeLink): Promise<void>;
  /** Consumes a link for the action; returns whether there was one. When the action fails, the link works again. */
  use(purpose: LinkPurpose, token: string, action: () => Promise<unknown>): Promise<boolean>;
};

/** 256 bits as base64url. */
const TOKEN = /^[\w-]{43}$/;

/** Links that are mailed to a person and work once. Only the hashes of their tokens are stored. */
export function createOneTimeLinks(store: OneTimeLinkStore): OneTimeLinks {
  const links: OneTimeLinks = {
    async issue({ seconds, change = null, method = null, given, ...draft }) {
      const token = randomBytes(32).toString('base64url');
      const expiresAt = new Date(Date.now() + seconds * 1000);
      await store.put({ ...draft, change, method, given, tokenHash: hashToken(token), expiresAt });
      return token;
    },
    async peek(purpose, token) {
      return TOKEN.test(token) ? store.find(purpose, hashToken(token)) : undefined;
    },
    async consume(purpose, token) {
      return TOKEN.test(token) ? store.take(purpose, hashToken(token)) : undefined;
    },
    restore: (purpose, token, link) => store.restore({ ...link, purpose, tokenHash: hashToken(token) }),
    async use(purpose, token, action) {
      const link = await links.consume(purpose, token);
      if (link === undefined) return false;
      await action().catch(async (error: unknown) => {
        await links.restore(purpose, token, link);
        throw error;
      });
      return true;
    },
  };
  return links;
}

/** Whether the link was sent to the account's present address in its present sign-in epoch. */
export function isCurrentLink(
  link: OneTimeLink | undefined,
  account: { id: string; email: string | null; sign_in_epoch: number },
): link is OneTimeLink {
  return link?.userId === account.id && link.email === account.email && link.epoch === account.sign_in_epoch;
}

function hashToken(token: string): string {
  return hash('sha256', token, 'base64url');
}
