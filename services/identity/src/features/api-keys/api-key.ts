import { date, type EntityOf, id, number, object, text, value } from '@gatehouse/domain/fields';
import { type LastUse, lastUse } from '../../core/applications/application.ts';
import { GIVEN, type Given } from '../../core/authority/given.ts';

/** A key with which an application calls the API without requesting tokens. */
export const API_KEY = {
  /** The part of the key that identifies it; not secret. */
  id: id(),
  clientId: text(),
  /** The giver of the key. Undefined for a key of the operator. */
  given: object(GIVEN).optional(),
  /** The ids of the keys that it replaced by rotation. */
  replaces: value<readonly string[]>().default([]),
  name: text(),
  scopes: value<readonly string[]>(),
  /** The identifier of the resource of somebody else that it is for; undefined for the API. */
  resource: text().optional(),
  /** SHA-256 of the whole key, base64url. */
  hash: text(),
  /** Its last characters. */
  lastFour: text(),
  /** In seconds; null for a key that never expires. */
  lifetime: number().default(null),
  createdAt: date(),
  expiresAt: date().default(null),
  lastUse: lastUse(),
  /** The id of the key that replaced it. */
  rotatedTo: text().default(null),
};
export type ApiKey = EntityOf<typeof API_KEY>;

/** A key as it is stored, from what is kept of its text. Its lifetime begins now. */
export function apiKeyOf(
  { id, hash, lastFour }: Pick<ApiKey, 'id' | 'hash' | 'lastFour'>,
  like: Pick<ApiKey, 'clientId' | 'given' | 'name' | 'scopes' | 'lifetime'> &
    Partial<Pick<ApiKey, 'replaces' | 'resource'>>,
): ApiKey {
  const now = Date.now();
  const { clientId, given, name, scopes, resource, lifetime, replaces = [] } = like;
  return {
    id,
    hash,
    lastFour,
    clientId,
    given,
    replaces,
    name,
    scopes,
    resource,
    lifetime,
    createdAt: new Date(now),
    expiresAt: lifetime === null ? null : new Date(now + lifetime * 1000),
    lastUse: null,
    rotatedTo: null,
  };
}

export const MAX_KEYS = 50;

/** The store of API keys. Writes are durable when they resolve. */
export type ApiKeyStore = {
  /** Inserts it unless its application has MAX_KEYS; returns whether it did. */
  insert(key: ApiKey): Promise<boolean>;
  /** The valid keys of an application, the oldest first. */
  list(clientId: string): Promise<ApiKey[]>;
  /** A valid key. */
  find(clientId: string, id: string): Promise<ApiKey | undefined>;
  findByHash(hash: string): Promise<ApiKey | undefined>;
  /** Makes a key expire in favour of its successor, unless it has been given another since it was read. */
  replace(key: ApiKey, successor: string, expiresAt: Date): Promise<boolean>;
  /** Hides the key, until revocationWritten() removes it. Returns whether there was one. */
  markRevoked(clientId: string, id: string): Promise<boolean>;
  /** The keys that replaced this one stand for it no longer. */
  forgetReplaced(clientId: string, id: string): Promise<void>;
  revocationWritten(id: string): Promise<void>;
  /** The keys whose revocations may not have been written. */
  awaitingRevocation(): Promise<string[]>;
  /** Removes the keys of an application that has been deleted, or has another owner. */
  removeAll(clientId: string): Promise<void>;
  setGiven(clientId: string, id: string, given: Given): Promise<void>;
  used(id: string, use: LastUse): Promise<void>;
};
