import { date, type EntityOf, id, number, text, value } from '@gatehouse/domain/fields';

/** An app that shows codes for an account (TOTP, RFC 6238), and the recovery codes for when it is lost. An account has one. */
export const AUTHENTICATOR_APP = {
  userId: id(),
  /** The id by which it is removed. */
  id: text().stored('app_id'),
  /** The shared secret in base32, sealed under the master key. */
  sealedSecret: text(),
  /** The time step of the last code that was accepted (RFC 6238 §5.2): no code is accepted twice. */
  lastStep: number(),
  createdAt: date(),
  lastUsedAt: date().default(null),
  /** The hashes of the recovery codes that are left, and their salt. */
  recoverySalt: text(),
  recoveryCodes: value<readonly string[]>(),
  /** When the codes of the set-up were replaced. */
  codesRenewedAt: date().default(null),
};
export type AuthenticatorApp = EntityOf<typeof AUTHENTICATOR_APP>;
export type RecoveryCodes = Pick<AuthenticatorApp, 'recoverySalt' | 'recoveryCodes'>;

/** Writes are durable when they resolve. Those that name the app change nothing once it has been replaced by another. */
export type AuthenticatorAppStore = {
  /** Returns false when the account has one. */
  insert(app: AuthenticatorApp): Promise<boolean>;
  find(userId: string): Promise<AuthenticatorApp | undefined>;
  /** Accepts the code of a time step, unless that of this or a later one has been: of concurrent calls, one gets true. */
  useStep(app: Named, step: number): Promise<boolean>;
  /** Removes a recovery code; of concurrent calls, one gets true. */
  useRecoveryCode(app: Named, code: string): Promise<boolean>;
  replaceRecoveryCodes(app: Named, codes: RecoveryCodes): Promise<boolean>;
  /** It can be restored for some time. */
  remove(app: Named): Promise<boolean>;
  /** Puts it back if it was removed lately and added before the time, and the account has none. */
  restore(app: Named, before: Date): Promise<boolean>;
  /**
   * Removes that of the account if it was added after the time; by default, at any. Returns whether it did. Of an older one it
   * removes the recovery codes, if these were made after the time.
   */
  removeSince(userId: string, time?: Date): Promise<boolean>;
  /** With those that can be restored. */
  all(): AsyncIterable<AuthenticatorApp>;
  /** Returns false when it is gone. */
  reseal(app: Named, sealedSecret: string): Promise<boolean>;
};
type Named = Pick<AuthenticatorApp, 'userId' | 'id'>;
