import type { Deployment } from './deployment.ts';
import type { Output } from './output.ts';
import type { Profiles } from './profiles.ts';
import type { SignIn } from './sign-in.ts';

/** A command that runs, by the global options of its command line. */
export type Session = () => {
  deployment: Deployment;
  output: Output;
  profiles: Profiles;
  signIn: SignIn;
  /** Whether somebody is at a terminal. */
  isAttended: boolean;
  /** Asks in a terminal, and goes on without one. Rejects with a CliError when the person says no. */
  confirm(question: string): Promise<void>;
  /** Opens a page where somebody sits at a terminal. */
  openPage: ((url: string) => void) | undefined;
  /** The secret in an argument, or for `-` in stdin, where other users of the machine cannot see it. */
  secretOf(argument: string): Promise<string>;
  env: Readonly<Record<string, string | undefined>>;
};
