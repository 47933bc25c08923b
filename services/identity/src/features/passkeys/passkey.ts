import { boolean, date, type EntityOf, id, number, text, value } from '@gatehouse/domain/fields';

/** A credential of WebAuthn Level 3 with which a person signs in. */
export const PASSKEY = {
  id: id(),
  userId: text(),
  /** The name that its owner sees. */
  name: text(),
  /** The id that authenticators know it by, in base64url. */
  credentialId: text(),
  /** As COSE_Key (RFC 9052), in base64url. */
  publicKey: text(),
  /** Of its signatures; 0 for an authenticator that does not count. */
  counter: number(),
  transports: value<readonly string[]>(),
  /** Whether it may be synced between devices, and whether it is. */
  isSyncable: boolean(),
  isSynced: boolean(),
  createdAt: date(),
  lastUsedAt: date().default(null),
};
export type Passkey = EntityOf<typeof PASSKEY>;

/**
 * How somebody has signed in with it (RFC 8176 §2): with a key that is, as the authenticator says, in hardware or synced; in
 * person; and verified by the authenticator, a second factor.
 */
export function amrOf({ isSynced }: Pick<Passkey, 'isSynced'>): string[] {
  return [isSynced ? 'swk' : 'hwk', 'user', 'mfa'];
}

/** Of one account. */
export const MAX_PASSKEYS = 20;
export const MAX_NAME = 60;

/** The store of passkeys that the service needs. Writes are durable when they resolve. */
export type PasskeyStore = {
  /** Inserts it unless the account has MAX_PASSKEYS; returns whether it did. Throws `conflict` if the credential is known. */
  insert(passkey: Passkey): Promise<boolean>;
  /** Those of an account, the oldest first. */
  list(userId: string): Promise<Passkey[]>;
  findByCredential(credentialId: string): Promise<Passkey | undefined>;
  /** Records a use. Returns false if the passkey is gone, or its counter has not grown, which means that it was copied. */
  used(id: string, use: Pick<Passkey, 'counter' | 'isSynced'> & { at: Date }): Promise<boolean>;
  /** Returns whether the account has it. */
  rename(userId: string, id: string, name: string): Promise<boolean>;
  /** Returns whether the account had it. It can be restored for some time. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Puts one back that was removed lately, if it was added before the time. */
  restore(userId: string, id: string, before: Date): Promise<boolean>;
  /** Removes all of an account, or those that were added since; returns how many there were. */
  removeAll(userId: string, since?: Date): Promise<number>;
};
