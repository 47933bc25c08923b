import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

export const APPLICATION_TYPES = ['web', 'spa', 'native', 'machine'] as const;
export type ApplicationType = (typeof APPLICATION_TYPES)[number];

/** A client of the interface: what OAuth calls a client, with what we need to know beside. */
export type Application = {
  /** The client_id. */
  id: string;
  name: string;
  type: ApplicationType;
  /** The user who owns it; null for one that the operator set up. */
  owner: string | null;
  /** Marked by an admin: stands for itself as a machine, not under its owner's role. */
  trusted: boolean;
  /** What it may ask for. */
  scopes: readonly string[];
  /** Two may live at a time, so that one can be replaced without downtime. */
  secrets: readonly ClientSecret[];
  /** Tokens that carry a lower one are dead. */
  epoch: number;
  createdAt: Date;
};

/** The hash of a client secret; the secret itself is shown once and not kept. */
export type ClientSecret = { id: string; hash: string; createdAt: Date };

/** What identity needs of a store of applications. Writes are durable when they resolve. */
export type ApplicationStore = {
  /** Inserts unless an application with this id exists; tells whether it did. */
  insertIfAbsent(application: Application): Promise<boolean>;
  findById(id: string): Promise<Application | undefined>;
};

/** A new client secret: 256 random bits in 43 characters. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** A slow hash would add nothing: a random secret of 256 bits cannot be guessed. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

/** Whether the secret is one of the application's, in a time that does not depend on how close it comes. */
export function acceptsSecret(application: Application, secret: string): boolean {
  const given = Buffer.from(hashSecret(secret));
  let accepted = false;
  for (const { hash } of application.secrets) {
    const expected = Buffer.from(hash);
    if (expected.length === given.length && timingSafeEqual(expected, given)) accepted = true;
  }
  return accepted;
}
