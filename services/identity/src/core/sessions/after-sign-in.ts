import type { ServiceError } from '@gatehouse/core/errors';
import type { PageForm } from '@gatehouse/web/form';
import type { Context } from 'koa';
import type { RequestingApplication } from '../../pages/requesting-application.ts';
import type { Account } from '../accounts/account.ts';
import type { SignIn } from '../oidc/epochs/sign-in-epochs.ts';
import type { Verified } from './verified.ts';

/** A completed sign-in, from the stored result of the interaction. `recheck` throws SignInExpired once that has ended. */
export type CompletedSignIn = { account: Account; login: SignIn; recheck(): Promise<unknown> };

/** A page with one form, between a sign-in and the redirect to the application. */
export type PageAfterSignIn = {
  /** The end of its path. */
  name: string;
  isFor(ctx: Context, verified: Verified): boolean | Promise<boolean>;
  /** `next` is where the sign-in goes on without the form, and `error` what `submit` has thrown. */
  show(
    ctx: Context,
    signIn: CompletedSignIn,
    page: {
      form: PageForm;
      application: RequestingApplication | undefined;
      next: string;
      error: ServiceError | undefined;
    },
  ): string | Promise<string>;
  /** Returns the sign-in that goes on. Throws `invalid` and `forbidden` for a form to correct. */
  submit(ctx: Context, signIn: CompletedSignIn, fields: ReadonlyMap<string, string>): Promise<SignIn>;
};
