import type { Field, PageForm } from '@gatehouse/web/form';
import type { Account } from '../accounts/account.ts';
import type { Origin } from '../audit/audit.ts';

/** A code that the owner of an account can give beside the password. */
export type SecondFactor = {
  /** Of what its codes are of, such as an app. */
  credentialId: string;
  /** Its name in forms and in the audit log. */
  name: string;
  /** Its methods in the `amr` of a sign-in (RFC 8176 §2), beside `mfa`. */
  amr: readonly string[];
  /** Its field on the sign-in page; `use` offers it where another comes first. */
  field: Pick<Field, 'label' | 'hint' | 'inputmode' | 'autocomplete'> & { use?: string };
  /** Whether the code is right, which uses it up: of several concurrent calls with one code, one gets true. */
  verify(code: string, origin: Origin): Promise<boolean>;
};

export type SecondFactorSource = {
  /** Those that the account has, in the order in which they are offered; none, unless the account needs one to sign in. */
  of(userId: string): Promise<SecondFactor[]>;
  /** Removes those that have been set up since, with an account that somebody else had; returns how many they were. */
  removeSince(userId: string, time: Date): Promise<number>;
  /** As of Credentials in core/extensions.ts. */
  restore(userId: string, id: string, before: Date): Promise<boolean>;
};

/** The recovery of a person who has entered the password and has lost all second factors. */
export type LostFactors = {
  /** The page about it, whose form begins it. `back` is the path of the page for the code. */
  page(account: Account, form: PageForm, back: string): Promise<string>;
  begin(account: Account, origin: Origin): Promise<void>;
  /** Called when somebody has signed in with a factor. */
  stop(userId: string, origin: Origin): Promise<void>;
};
