import type { Role } from '@gatehouse/tokens/scopes';

/** Tokens of a person, which never leave the server. */
export type Tokens = {
  access: string;
  refresh: string;
  /** In milliseconds since 1970. */
  expiresAt: number;
};

/** The person who has signed in, as they were when their token was issued. */
export type Person = { id: string; name: string; role: Role };

const RANK: Readonly<Record<Role, number>> = { user: 0, editor: 1, admin: 2 };

/** Whether somebody has a role or a higher one; without a role, it is for everybody. */
export function hasRole(person: Pick<Person, 'role'>, role: Role = 'user'): boolean {
  return RANK[person.role] >= RANK[role];
}

/** Somebody's sign-in in one browser. */
export type Session = {
  /** The hash of the cookie's value. */
  id: string;
  person: Person;
  tokens: Tokens;
};

/** A session as stored: the person and the tokens are sealed. */
export type StoredSession = {
  id: string;
  /** The person's id, as a keyed hash. */
  owner: string;
  sealed: string;
  createdAt: Date;
  /** When it ends unless it is used. */
  expiresAt: Date;
  /** When it ends in any case. */
  endsAt: Date;
};

/** The store of sessions, for all replicas. Writes are durable when they resolve. */
export type SessionStore = {
  insert(session: StoredSession): Promise<void>;
  /** Unless it has expired. */
  find(id: string): Promise<StoredSession | undefined>;
  replace(id: string, sealed: string): Promise<void>;
  extend(id: string, expiresAt: Date): Promise<void>;
  remove(id: string): Promise<void>;
  /** Removes the oldest of an owner, except as many as `keep`. */
  removeOldest(owner: string, keep: number): Promise<void>;
  /** Keeps a page that refused a form, in place of any other of the session. */
  putRefused(id: string, refused: { id: string; sealed: string }): Promise<void>;
  takeRefused(id: string, refused: string): Promise<string | undefined>;
  /** Keeps a text for the next view of a page in the session, beside those that it has already. */
  putFlash(id: string, page: string, sealed: string): Promise<void>;
  /** The texts for that page, the oldest first; of several calls, one gets them. */
  takeFlashes(id: string, page: string): Promise<string[]>;
};
