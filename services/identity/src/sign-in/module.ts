import { addressKey, createRateLimiter } from '@gatehouse/http/rate-limit';
import type { Logger } from '@gatehouse/kit/logger';
import { deriveKey } from '@gatehouse/kit/sealing';
import type { Connection } from 'mongoose';
import type Provider from 'oidc-provider';
import type { Accounts } from '../accounts/account.ts';
import type { AccountMails } from '../accounts/account-mails.ts';
import type { OneTimeLinks } from '../accounts/one-time-link.ts';
import type { Application } from '../applications/application.ts';
import type { Applications } from '../applications/applications.ts';
import type { Audit } from '../audit/audit.ts';
import type { ToServiceError } from '../http/service-error.ts';
import type { OidcStore } from '../oidc/oidc-adapter.ts';
import { addAccessRoutes } from './access-routes.ts';
import { createAccountRouter } from './account-router.ts';
import { createAccountService } from './account-service.ts';
import { createAuthorizedApplications } from './authorized-applications.ts';
import { createBrowserCookie } from './browser-cookie.ts';
import { createBrowserSessions } from './browser-sessions.ts';
import { createCsrfForms } from './csrf-forms.ts';
import { interactionRoutes } from './interaction-routes.ts';
import { createPageErrors } from './page-errors.ts';
import { createPasswordCheck } from './password-check.ts';
import { addProfileRoutes } from './profile-routes.ts';
import { createProviderPages } from './provider-pages.ts';
import { recoveryRoutes } from './recovery-routes.ts';
import { createSignInThrottle } from './sign-in-throttle.ts';
import { createSignInThrottleStore } from './sign-in-throttle-store.ts';

/** Accounts that can be created from one address in an hour. */
const SIGN_UPS = { name: 'accounts', quota: 20, seconds: 3600 };

/** What limits attempts to sign in. */
export function createThrottleModule(connection: Connection, masterKey: Buffer) {
  const store = createSignInThrottleStore(connection);
  const throttle = createSignInThrottle({ store, key: deriveKey(masterKey, 'sign-in guard') });
  return { throttle, collections: [store.collection] };
}

/** The pages on which people sign in and manage their account. */
export function createSignInModule(options: {
  issuer: string;
  masterKey: Buffer;
  provider(): Provider;
  store: OidcStore;
  throttle: ReturnType<typeof createSignInThrottle>;
  accounts: Accounts;
  links: OneTimeLinks;
  mails: AccountMails;
  applications: Pick<Applications, 'roleIn'>;
  findApplication(id: string): Promise<Application | undefined>;
  audit: Audit;
  toServiceError: ToServiceError;
  /** In seconds. */
  sessionLifetime: number;
  /** Whether people may create accounts for themselves. */
  signUp: boolean;
  logger: Logger;
}) {
  const { masterKey, throttle, applications } = options;
  const formKey = deriveKey(masterKey, 'forms');
  const browser = createBrowserCookie(formKey);
  const forms = createCsrfForms(formKey, browser);
  const sessions = createBrowserSessions({ ...options, lifetime: options.sessionLifetime });
  const checkPassword = createPasswordCheck(options);
  const pageErrors = createPageErrors(options.toServiceError);
  const signUps = createRateLimiter(SIGN_UPS);
  const parts = { ...options, browser, forms, sessions, checkPassword };

  const accountRouter = createAccountRouter(parts);
  addProfileRoutes(accountRouter, { account: createAccountService(options), sessions });
  addAccessRoutes(accountRouter, {
    ...parts,
    applications: createAuthorizedApplications({ ...options, findClient: options.findApplication }),
  });
  return {
    checkPassword,
    pageErrors,
    providerPages: createProviderPages({ ...parts, pageErrors }),
    routers: [
      interactionRoutes({
        ...parts,
        roleIn: applications.roleIn,
        countSignUp: (address) => signUps.count(addressKey(address)),
      }),
      accountRouter.router,
      recoveryRoutes({ ...parts, countRequest: (address) => throttle.countMail({ address }) }),
    ],
  };
}
