/** A key by which an application calls the API without asking for tokens. */
export type ApiKey = {
  /** The part of the key by which it is known; no secret. */
  id: string;
  clientId: string;
  name: string;
  scopes: readonly string[];
  /** SHA-256 of the whole key, base64url. */
  hash: string;
  /** In seconds; null for a key that lives until it is revoked. */
  lifetime: number | null;
  createdAt: Date;
  expiresAt: Date | null;
  /** To the minute. */
  lastUsedAt: Date | null;
  /** The id of the key that was made in its place. */
  rotatedTo: string | null;
};

/** A key to be kept, from the id and the hash of its text. It lives from now on. */
export function apiKeyOf(
  { id, hash }: { id: string; hash: string },
  like: Pick<ApiKey, 'clientId' | 'name' | 'scopes' | 'lifetime'>,
): ApiKey {
  const now = Date.now();
  const { clientId, name, scopes, lifetime } = like;
  return {
    id,
    hash,
    clientId,
    name,
    scopes,
    lifetime,
    createdAt: new Date(now),
    expiresAt: lifetime === null ? null : new Date(now + lifetime * 1000),
    lastUsedAt: null,
    rotatedTo: null,
  };
}

export const MAX_KEYS = 50;

/** What identity needs of a store of API keys. Writes are durable when they resolve. */
export type ApiKeyStore = {
  /** Inserts it unless its application has MAX_KEYS already; tells whether it did. */
  insert(key: ApiKey): Promise<boolean>;
  /** The living keys of an application, in the order of their making. */
  list(clientId: string): Promise<ApiKey[]>;
  /** A living key. */
  find(clientId: string, id: string): Promise<ApiKey | undefined>;
  findByHash(hash: string): Promise<ApiKey | undefined>;
  /** Ends a key at the time for its successor, unless it has been given another since it was read. */
  replace(key: ApiKey, successor: string, expiresAt: Date): Promise<boolean>;
  /** From now on it is not found any more; it is gone with revocationWritten(). Tells whether there was one. */
  markRevoked(clientId: string, id: string): Promise<boolean>;
  revocationWritten(id: string): Promise<void>;
  /** The revoked ones that are not gone: their revocations may not have been written. */
  awaitingRevocation(): Promise<string[]>;
  /** Removes the keys of an application that has been deleted. */
  removeAll(clientId: string): Promise<void>;
  used(id: string, at: Date): Promise<void>;
};

/** What a service needs to know of a key that somebody calls it with. */
export type ResolvedApiKey = {
  id: string;
  client_id: string;
  scopes: string[];
  /** Whether it stands for itself, under nobody's role. */
  trusted: boolean;
  owner: string | null;
  role: 'user' | 'editor' | 'admin' | null;
  profiles?: Readonly<Record<string, string>>;
  epoch: { client: number; subject?: number };
  expires_at: string | null;
};
