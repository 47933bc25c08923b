import type { Acr } from '@gatehouse/verify/sign-in';
import type { Content } from '@gatehouse/web/html';
import type { Context } from 'koa';
import type { Interaction } from 'oidc-provider';
import type { Verified } from './verified.ts';

/** The message of the sign-in page when nobody has been signed in; `isNotice` when that is no failure. */
export type SignInMessage = { title: string; advice: string; isNotice?: boolean };

/** Where somebody goes on to sign in: the name for people, and the URL. */
export type OtherSite = { to: string; url: string };

/** In which sign-in somebody uses a method; `interaction` is its uid, and `login` the name that they have entered. */
export type SignInAttempt = { interaction: string; client: string; details: Interaction; login?: string };

/** A way to sign in beside the password. The sign-in page offers it where the browser can do it. */
export type SignInMethod = {
  /** The path that its form is sent to ends with it. */
  name: string;
  /** The acr of every sign-in by it; undefined where that depends on another site. */
  acr?: Acr;
  /** The paths of the scripts that it needs on the page. */
  scripts: readonly string[];
  /** The content of its form. A browser that cannot use the method shows nothing of it. `interaction` is the uid of the sign-in. */
  fields(ctx: Context, interaction: string): Content;
  /** The message of the page when the sign-in fails. */
  problem(): SignInMessage;
  /**
   * For a method of another site: where the form leads. The browser comes back to the path of the form with the parameters that
   * `verify` gets.
   */
  redirect?(ctx: Context, attempt: SignInAttempt): Promise<OtherSite | SignInMessage>;
  /** For a method of another site: whether people with this address sign in by it, and whether a password still does. */
  isFor?(address: string): false | 'beside the password' | 'only';
  /** The account that the submitted form signs in; undefined or a message if none. Success and failure are recorded in the audit log. */
  verify(
    ctx: Context,
    form: ReadonlyMap<string, string>,
    attempt: SignInAttempt,
  ): Promise<Verified | SignInMessage | undefined>;
  /** Whether the account can be signed in to by it. */
  isSetUp(userId: string): Promise<boolean>;
  /** The message while the account of this method is being connected: the person signs in to their own account for that. */
  notice?(ctx: Context, details: Interaction): (SignInMessage & { accountId: string }) | undefined;
  /** Called at the end of a sign-in, by whatever method. Returns what the person has to know before going on. */
  signedIn?(ctx: Context, details: Interaction, verified: Verified): Promise<SignInMessage | undefined>;
};
