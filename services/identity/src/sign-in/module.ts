import { createAddressLimiter } from '@gatehouse/api/http/rate-limit';
import type { RateLimitStore } from '@gatehouse/api/http/rate-limit-store';
import type { Logger } from '@gatehouse/core/logger';
import { deriveKeys, type KeyList } from '@gatehouse/core/sealing';
import { createMailSender, type MailSettings } from '@gatehouse/mail/mail-settings';
import type { Connection } from 'mongoose';
import type Provider from 'oidc-provider';
import type { Accounts } from '../accounts/account.ts';
import { createAccountMails } from '../accounts/account-mails.ts';
import { createNotices } from '../accounts/notices.ts';
import { createOneTimeLinks } from '../accounts/one-time-link.ts';
import { createOneTimeLinkStore } from '../accounts/one-time-link-store.ts';
import { createSeenStore } from '../accounts/seen-store.ts';
import { SIGN_UPS } from '../anonymous/bounds.ts';
import type { ApiKeys } from '../applications/api-keys.ts';
import type { Applications } from '../applications/applications.ts';
import type { Audit } from '../audit/audit.ts';
import type { ToServiceError } from '../http/service-error.ts';
import type { Logins } from '../logins/logins.ts';
import type { OidcStore } from '../oidc/oidc-adapter.ts';
import type { Lifetimes } from '../oidc/provider.ts';
import type { SessionEnds } from '../sessions/session-ends.ts';
import type { SignInGenerations } from '../sessions/sign-in-generations.ts';
import { addAccessRoutes } from './access-routes.ts';
import { createAccountRouter } from './account-router.ts';
import { createAccountService } from './account-service.ts';
import { createAuthorizedApplications } from './authorized-applications.ts';
import { createBrowserCookie } from './browser-cookie.ts';
import { createBrowserSessions } from './browser-sessions.ts';
import { createCsrfForms } from './csrf-forms.ts';
import { interactionRoutes } from './interaction-routes.ts';
import { createOwnApplications } from './own-applications.ts';
import { createPageErrors } from './page-errors.ts';
import { createPasswordCheck } from './password-check.ts';
import { addProfileRoutes } from './profile-routes.ts';
import { createProviderPages } from './provider-pages.ts';
import { recoveryRoutes } from './recovery-routes.ts';
import { createSignInThrottle } from './sign-in-throttle.ts';
import { createSignInThrottleStore } from './sign-in-throttle-store.ts';
import { addVerificationRoutes } from './verification-routes.ts';

/** The pages on which people sign in and manage their account, with the mails and the throttling they need. */
export function createSignInModule(options: {
  issuer: string;
  masterKeys: KeyList;
  connection: Connection;
  provider(): Provider;
  store: OidcStore;
  logins: Logins;
  sessionEnds: SessionEnds;
  generations: SignInGenerations;
  accounts: Accounts;
  applications: Applications;
  apiKeys: ApiKeys;
  audit: Audit;
  toServiceError: ToServiceError;
  mail: MailSettings | undefined;
  sharedLimits: RateLimitStore | undefined;
  lifetimes: Lifetimes;
  /** Whether people may create accounts for themselves. */
  signUp: boolean;
  logger: Logger;
}) {
  const { masterKeys, connection, applications } = options;
  const counters = createSignInThrottleStore(connection);
  const [throttleKey] = deriveKeys(masterKeys, 'sign-in guard');
  const throttle = createSignInThrottle({ store: counters, key: throttleKey });
  const linkStore = createOneTimeLinkStore(connection);
  const links = createOneTimeLinks(linkStore);
  const mail = createMailSender(options.mail);
  const mails = createAccountMails({
    ...options,
    links,
    mail,
    // Each kind by itself: what one causes must not keep another from being sent.
    countMail: (recipient, kind) => throttle.countMail({ recipient: `${kind} ${recipient}` }),
  });
  const seen = createSeenStore(connection);
  const notices = createNotices({ mails, seen });

  const formKeys = deriveKeys(masterKeys, 'forms');
  const browser = createBrowserCookie(formKeys);
  const forms = createCsrfForms(formKeys, browser);
  const sessions = createBrowserSessions({ ...options, lifetime: options.lifetimes.session });
  const signUps = createAddressLimiter(SIGN_UPS, options.sharedLimits);
  const shared = { ...options, throttle, links, mails, notices, browser, forms, sessions };
  const checkPassword = createPasswordCheck(shared);
  const pageErrors = createPageErrors(options.toServiceError);

  const pages = createAccountRouter(shared);
  const own = createOwnApplications(options);
  addProfileRoutes(pages, { account: createAccountService(shared), sessions, own });
  addVerificationRoutes(pages, shared);
  addAccessRoutes(pages, { ...shared, own, applications: createAuthorizedApplications(options) });
  return {
    browser,
    checkPassword,
    pageErrors,
    sessions,
    mails,
    notices,
    removeLinksOf: linkStore.removeAllOf,
    providerPages: createProviderPages({ ...shared, pageErrors }),
    routers: [
      interactionRoutes({
        ...shared,
        checkPassword,
        roleIn: applications.roleIn,
        countSignUp: signUps.count,
      }),
      pages.router,
      recoveryRoutes({ ...shared, own, countRequest: (address) => throttle.countMail({ address }) }),
    ],
    collections: [counters.collection, linkStore.collection, seen.collection],
    stop: mail.stop,
  };
}
