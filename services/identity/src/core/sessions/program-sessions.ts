/** Where somebody is signed in, in a browser or by a program. */
export type ListedSession = {
  id: string;
  address: string | undefined;
  userAgent: string | undefined;
  createdAt: Date;
  /** To the minute. */
  lastUsedAt: Date;
};

/** Sessions of programs, whose access tokens have this client id. Writes are durable when they resolve. */
export type ProgramSessions = {
  clientId: string;
  /** How people call what the client id stands for. */
  clientName: string;
  used(id: string): void;
  exists(id: string): Promise<boolean>;
  /** The last used ones that are not over. */
  list(account: { id: string; epoch: number }): Promise<ListedSession[]>;
  /** Ends one of the account's sessions and all of its tokens; returns whether there was one. */
  end(accountId: string, id: string): Promise<boolean>;
  endAll(accountId: string): Promise<void>;
  /** Forgets those whose tokens a change of the account has revoked. */
  endBelow(accountId: string, epoch: number): Promise<void>;
};

/** The sessions of an account, of all kinds. */
export async function listPrograms(
  kinds: readonly Pick<ProgramSessions, 'list'>[],
  account: { id: string; epoch: number },
): Promise<ListedSession[]> {
  return (await Promise.all(kinds.map(({ list }) => list(account)))).flat();
}
