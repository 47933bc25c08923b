import type { Content } from '@gatehouse/web/html';
import type { Context } from 'koa';
import type { Verified } from './password-check.ts';

/** A way to sign in beside the password. The sign-in page offers it where the browser can do it. */
export type SignInMethod = {
  /** The path that its form is sent to ends with it. */
  name: string;
  /** The paths of the scripts that it needs on the page. */
  scripts: readonly string[];
  /** The content of its form, of which an uninvolved browser shows nothing. `interaction` is the uid of the sign-in. */
  fields(ctx: Context, interaction: string): Content;
  /** What the page says when it fails. */
  problem: { title: string; advice: string };
  /** Who has signed in by the submitted form; undefined if nobody has. Both are in the audit log. */
  verify(
    ctx: Context,
    form: ReadonlyMap<string, string>,
    attempt: { interaction: string; client: string },
  ): Promise<Verified | undefined>;
  /** Whether the account can be signed in to by it. */
  isSetUp(userId: string): Promise<boolean>;
  /** Ends the method for an account whose owner has lost it to somebody else; returns how many credentials that were. */
  endAll(userId: string): Promise<number>;
};
