import { hash, randomBytes } from 'node:crypto';

/** What a mailed link is for. */
export type LinkPurpose = 'new_password' | 'verify_email';

/** What a link stands for. Whoever uses it compares `email` and `epoch` with the account's: a change voids it. */
export type OneTimeLink = {
  userId: string;
  /** The address that it was sent to. */
  email: string;
  /** The account's sign_in_epoch when it was made. */
  epoch: number;
  expiresAt: Date;
};

/** A link as it is kept: by the hash of its token. */
export type StoredLink = OneTimeLink & { purpose: LinkPurpose; tokenHash: string };

export type OneTimeLinkStore = {
  collection: string;
  /** In the place of the person's earlier one of the same purpose. Durable when it resolves. */
  put(link: StoredLink): Promise<void>;
  /** The same, unless there is a later one by now. */
  putBack(link: StoredLink): Promise<void>;
  /** None that has expired. */
  find(purpose: LinkPurpose, tokenHash: string): Promise<OneTimeLink | undefined>;
  /** Of several at once, one gets it. */
  take(purpose: LinkPurpose, tokenHash: string): Promise<OneTimeLink | undefined>;
};

export type OneTimeLinks = {
  /** A token for a new link, which works once, for so many seconds; the earlier one of this purpose is void. */
  issue(draft: Omit<OneTimeLink, 'expiresAt'> & { purpose: LinkPurpose; seconds: number }): Promise<string>;
  /** What a link stands for, which it goes on to do; undefined when it is none, or used, or has expired. */
  peek(purpose: LinkPurpose, token: string): Promise<OneTimeLink | undefined>;
  /** The same, and the link is used up. */
  consume(purpose: LinkPurpose, token: string): Promise<OneTimeLink | undefined>;
  /** A link that was consumed for nothing works once more, for what is left of its time. */
  giveBack(purpose: LinkPurpose, token: string, link: OneTimeLink): Promise<void>;
};

/** 256 bits as base64url. */
const TOKEN = /^[\w-]{43}$/;

/** Links that are mailed to a person and work once. Only the hashes of their tokens are kept. */
export function createOneTimeLinks(store: OneTimeLinkStore): OneTimeLinks {
  return {
    async issue({ purpose, userId, email, epoch, seconds }) {
      const token = randomBytes(32).toString('base64url');
      const expiresAt = new Date(Date.now() + seconds * 1000);
      await store.put({ purpose, userId, email, epoch, tokenHash: hashToken(token), expiresAt });
      return token;
    },
    async peek(purpose, token) {
      return TOKEN.test(token) ? store.find(purpose, hashToken(token)) : undefined;
    },
    async consume(purpose, token) {
      return TOKEN.test(token) ? store.take(purpose, hashToken(token)) : undefined;
    },
    giveBack: (purpose, token, link) => store.putBack({ ...link, purpose, tokenHash: hashToken(token) }),
  };
}

function hashToken(token: string): string {
  return hash('sha256', token, 'base64url');
}
