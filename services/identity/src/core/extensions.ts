import type { Revocation } from '@gatehouse/tokens/revocations';
import type { ApplicationKeys } from './applications/application-keys.ts';
import type { Logout } from './oidc/epochs/sign-outs.ts';
import type { ProviderExtension } from './oidc/provider-options.ts';
import type { FactorList, SecurityPart } from './sessions/listed-factors.ts';
import type { ProgramSessions } from './sessions/program-sessions.ts';
import type { SecondFactorSource } from './sessions/second-factor.ts';
import type { SignInMethod } from './sessions/sign-in-method.ts';
import type { SignUpMethod } from './sessions/sign-up-method.ts';

/** The callbacks that features add to the core and to one another, each when it is created. Read when a request needs it. */
export type Extensions = {
  applicationKeys: ApplicationKeys[];
  programs: ProgramSessions[];
  provider: ProviderExtension[];
  signInMethods: SignInMethod[];
  secondFactors: SecondFactorSource[];
  /** The factors that people and admins see and remove. */
  factors: FactorList[];
  /** The parts of the page on how an account is signed in to, in their order there. */
  securityParts: SecurityPart[];
  signUpMethods: SignUpMethod[];
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
    secondFactors: [],
    factors: [],
    securityParts: [],
    signUpMethods: [],
    logoutListeners: [],
    revocationListeners: [],
    erasers: [],
  };
}
