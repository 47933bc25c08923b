import type { RequestedBy } from '@gatehouse/server/requests';
import type { Role } from '@gatehouse/tokens/scopes';

/** A person's account, as the users service returns it. */
export type Account = {
  id: string;
  username: string;
  email: string | null;
  email_verified: boolean;
  name: string;
  first_name: string | null;
  last_name: string | null;
  phone: string | null;
  /** The preferred language, a tag of BCP 47. */
  locale: string | null;
  /** The time zone, by its name in the IANA database. */
  zoneinfo: string | null;
  picture: string | null;
  role: Role;
  status: 'active' | 'inactive';
  /** Access tokens with a lower one are invalid. */
  epoch: number;
  /** Sessions, grants and refresh tokens with a lower one have ended. */
  sign_in_epoch: number;
  /** Raised by each recovery of the account. */
  recovery_epoch: number;
  /** Raised when everything ends that the person has given to programs and other people. */
  authority_epoch: number;
  /** Raised when the person stops being an admin. */
  admin_epoch: number;
  /** The address that a mailed link gives back. */
  earlier_email: string | null;
  /** When an admin last gave the account back: no link undoes an earlier change, except one of the address. */
  given_back_at: string | null;
  created_at: string;
  updated_at: string;
};

export type AccountChanges = Partial<
  Pick<
    Account,
    'username' | 'email' | 'name' | 'first_name' | 'last_name' | 'phone' | 'locale' | 'zoneinfo' | 'picture'
  >
>;

/** The accounts, which the users service owns. Throws its errors, and `unavailable` when it cannot be reached. */
export type Accounts = {
  find(id: string): Promise<Account | undefined>;
  /** Undefined for an unknown login, a wrong password or an inactive account alike. */
  checkPassword(login: string, password: string): Promise<Account | undefined>;
  /** Throws `forbidden` unless this is the password of the account with this id, whatever it is called by now. */
  checkCurrentPassword(id: string, password: string): Promise<void>;
  /** Whether it is known from a breach; false where nobody looks for that. */
  isBreachedPassword(password: string): Promise<boolean>;
  /** By username or verified email address. */
  lookUp(login: string): Promise<Account | undefined>;
  /**
   * Without a password for somebody who signs in in another way; without a username, one is derived from the address. Throws
   * `conflict` when the id is that of an account.
   */
  create(draft: {
    id?: string;
    username?: string;
    email: string;
    password?: string;
    name?: string;
    /** The role that an invitation gives. */
    role?: Role;
  }): Promise<Account>;
  hasPassword(id: string): Promise<boolean>;
  /** Ends tokens and sessions. Callers make sure that there is another way to sign in. */
  removePassword(id: string): Promise<Account>;
  update(id: string, changes: AccountChanges): Promise<Account>;
  /** Deletes the account of the person who asks for it; throws `conflict` for the last active admin. */
  remove(id: string, by: Omit<RequestedBy, 'user_id'>): Promise<void>;
  /**
   * Without the current password only for a person who has been identified in another way; null: for an account that has none, else
   * `forbidden`. With `isRecovery` for a person who has used a link because they could not sign in, and with
   * `isSetUp` if an admin made it.
   */
  changePassword(
    id: string,
    passwords: { next: string; current?: string | null; isRecovery?: boolean; isSetUp?: boolean },
  ): Promise<Account>;
  /**
   * Raises the authority epoch and the token epoch, which ends everything that the person gave to programs and other people; with
   * `everything` all epochs, which ends sessions and consents, too. The audit log names what is `kept`.
   */
  revoke(
    id: string,
    change: { everything: boolean; kept?: readonly string[]; by: Omit<RequestedBy, 'user_id'> },
  ): Promise<Account>;
  /** Throws `conflict` when it is no longer the account's address. */
  verifyEmail(id: string, email: string): Promise<Account>;
  /**
   * Gives an earlier address back, verified; ends tokens and sessions and removes the password. Throws `conflict` when it is neither the present
   * one nor the earlier one.
   */
  restoreEmail(id: string, email: string): Promise<Account>;
};
