import type { Content } from '@gatehouse/web/html';
import type { Context } from 'koa';
import type { Account } from '../accounts/account.ts';

/** A way to create an account without a password. It comes before the password where the browser can do it. */
export type SignUpMethod = {
  /** The field of the form that is filled in if this way was chosen. */
  field: string;
  /** The paths of the scripts that it needs on the page. */
  scripts: readonly string[];
  /** Its part of the form. `interaction` is the uid of the sign-in; `refused` is a form of which no account was made. */
  content(ctx: Context, interaction: string, refused?: ReadonlyMap<string, string>): Promise<Content>;
  /**
   * Stores what the account will be signed in to with. Throws `invalid` for a form that is not valid.
   */
  prepare(ctx: Context, form: ReadonlyMap<string, string>, interaction: string): Promise<PreparedAccount>;
};

/** An account that can be signed in to as soon as it exists. */
export type PreparedAccount = Pick<Account, 'id'> & {
  /** How the person has proved to be there (RFC 8176). */
  amr: readonly string[];
  /** For the audit log. */
  details: Readonly<Record<string, string>>;
  /** Forgets it, as the account cannot be created. */
  discard(): Promise<unknown>;
};
