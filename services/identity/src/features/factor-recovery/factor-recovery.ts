import { date, type EntityOf, id, number, text } from '@gatehouse/domain/fields';

/** That somebody who knows the password of an account asks for the removal of its second factors. An account has one. */
export const FACTOR_RECOVERY = {
  userId: id(),
  /** The account's address and sign_in_epoch at the time: with others, it is void. */
  email: text(),
  epoch: number(),
  /** When the factors can be removed. */
  readyAt: date(),
  /** When the next mail about it is due; null after the last one. */
  dueAt: date().default(null),
  expiresAt: date(),
};
export type FactorRecovery = EntityOf<typeof FACTOR_RECOVERY>;

/** Writes are durable when they resolve. */
export type FactorRecoveryStore = {
  collection: string;
  /** Finds none that has expired. */
  find(userId: string): Promise<FactorRecovery | undefined>;
  /** Returns whether there was none that has not expired, of this address and epoch; of concurrent calls, one gets true. */
  begin(recovery: FactorRecovery): Promise<boolean>;
  /** Takes one of which a mail is due, and sets when the next one is; of concurrent calls, one gets it. */
  takeDue(nextAfter: (recovery: FactorRecovery) => Date | null): Promise<FactorRecovery | undefined>;
  /** Returns whether there was one. */
  remove(userId: string): Promise<boolean>;
};
