import type { Revocation } from '@gatehouse/tokens/revocations';
import type { ApplicationKeys } from './applications/application-keys.ts';
import type { Logout } from './oidc/epochs/sign-outs.ts';
import type { ProviderExtension } from './oidc/provider-options.ts';
import type { ProgramSessions } from './sessions/program-sessions.ts';
import type { SignInMethod } from './sessions/sign-in-method.ts';

/** The callbacks that features add to the core and to one another, each when it is created. Read when a request needs it. */
export type Extensions = {
  applicationKeys: ApplicationKeys[];
  programs: ProgramSessions[];
  provider: ProviderExtension[];
  signInMethods: SignInMethod[];
  /** Called at each end of a session at an application. */
  logoutListeners: ((logout: Logout) => void)[];
  /** Called for each revocation by any replica, more than once for some. */
  revocationListeners: ((revocation: Revocation) => void)[];
  /** Erase what they hold about a person who has been deleted. */
  erasers: ((userId: string) => Promise<void>)[];
};

export function createExtensions(): Extensions {
  return {
    applicationKeys: [],
    programs: [],
    provider: [],
    signInMethods: [],
    logoutListeners: [],
    revocationListeners: [],
    erasers: [],
  };
}
