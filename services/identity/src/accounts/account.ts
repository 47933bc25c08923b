import type { Role } from '@gatehouse/tokens/scopes';

/** A person's account, as the users service tells of it. */
export type Account = {
  id: string;
  username: string;
  email: string | null;
  email_verified: boolean;
  name: string;
  first_name: string | null;
  last_name: string | null;
  phone: string | null;
  picture: string | null;
  role: Role;
  status: 'active' | 'inactive';
  /** Access tokens that carry a lower one are dead. */
  epoch: number;
  /** Sessions, grants and refresh tokens that carry a lower one are over. */
  sign_in_epoch: number;
  created_at: string;
  updated_at: string;
};

export type AccountChanges = Partial<
  Pick<Account, 'username' | 'email' | 'name' | 'first_name' | 'last_name' | 'phone' | 'picture'>
>;

/**
 * The accounts, which the users service owns. Every call throws `unavailable` when that cannot be reached, and
 * what users refuses is thrown as it said it.
 */
export type Accounts = {
  find(id: string): Promise<Account | undefined>;
  /** Undefined for an unknown name, a wrong password and an inactive account alike. */
  checkPassword(login: string, password: string): Promise<Account | undefined>;
  /** By username, or by an email address that is verified. */
  lookUp(login: string): Promise<Account | undefined>;
  create(draft: { username: string; email: string; password: string; name?: string }): Promise<Account>;
  update(id: string, changes: AccountChanges): Promise<Account>;
  /** Without the current password only for who has shown otherwise who they are. */
  changePassword(id: string, passwords: { next: string; current?: string }): Promise<Account>;
  /** Throws `conflict` when it is not the account's address any more. */
  verifyEmail(id: string, email: string): Promise<Account>;
};
