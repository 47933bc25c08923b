import { hash } from 'node:crypto';
import { date, type EntityOf, id, text } from '@gatehouse/domain/fields';

/** An identity at a provider by which a person signs in here. */
export const LINKED_IDENTITY = {
  id: id(),
  userId: text(),
  /** The id of the provider in the settings. */
  provider: text(),
  issuer: text(),
  subject: text(),
  /** The address or name by which its owner recognises it. */
  label: text(),
  /** The name that the account got from the provider; a different one in the account is the person's own. */
  name: text().default(null),
  picture: text().default(null),
  createdAt: date(),
  lastUsedAt: date().default(null),
};
export type LinkedIdentity = EntityOf<typeof LINKED_IDENTITY>;

/** OpenID Connect Core 1.0 §5.7: the issuer and the subject together say who it is, and nothing else does. */
export function linkedIdentityId({ issuer, subject }: { issuer: string; subject: string }): string {
  return hash('sha256', JSON.stringify([issuer, subject]), 'base64url');
}

/** The ID of the revocation (of the kind `grant`) of what rests on the connection. One that is connected again has another. */
export function connectionId({ id, createdAt }: Pick<LinkedIdentity, 'id' | 'createdAt'>): string {
  return `link_${id}.${createdAt.getTime()}`;
}

/** The store of linked identities that the service needs. Writes are durable when they resolve. */
export type LinkedIdentityStore = {
  /** Returns false if it is linked to an account, or the account has another one of this provider. */
  insert(identity: LinkedIdentity): Promise<boolean>;
  find(id: string): Promise<LinkedIdentity | undefined>;
  /** Those of an account, the oldest first. */
  list(userId: string): Promise<LinkedIdentity[]>;
  /** Records a use. Returns whether it is still linked to the account. */
  used(identity: LinkedIdentity, at: Date): Promise<boolean>;
  /** Notes that it was used in this session of the provider. */
  addSession(id: string, sid: string): Promise<void>;
  /** The one that was used in this session of the provider. */
  findBySession(provider: string, sid: string): Promise<LinkedIdentity | undefined>;
  /** Returns whether the account had it. It can be restored for some time. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Puts one back that was removed lately, if it was linked before the time. */
  restore(userId: string, id: string, before: Date): Promise<boolean>;
  /** How many there are of a provider. */
  count(provider: string): Promise<number>;
  /** Removes those of an account, or those that were linked since; returns how many there were. */
  removeAll(userId: string, since?: Date): Promise<number>;
};
