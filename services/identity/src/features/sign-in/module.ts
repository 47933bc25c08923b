import { createAddressLimiter } from '@gatehouse/api/http/rate-limit';
import { SIGN_UPS } from '../../core/limits/bounds.ts';
import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { consentRoutes } from './consent-routes.ts';
import { interactionRoutes } from './interaction-routes.ts';
import { addPreviewRoutes } from './preview-routes.ts';
import { createProviderPages } from './provider-pages.ts';
import { setUpRoutes } from './set-up-routes.ts';

/** The pages on which people sign in, create an account, give consent and sign out. */
export function signIn(
  core: Ports<'accounts' | 'applications' | 'sessions' | 'tokens' | 'pages'>,
): IdentityModule {
  const options = { ...core, provider: core.provider.current };
  const routes = interactionRoutes({
    ...options,
    methods: core.extensions.signInMethods,
    pagesAfterSignIn: core.extensions.pagesAfterSignIn,
    signUpMethods: core.extensions.signUpMethods,
    lostFactors: core.extensions.lostFactors,
    signUp: core.config.signUp === 'on',
    findsBreached: core.config.breachedPasswordsUrl !== undefined,
    countSignUp: createAddressLimiter(SIGN_UPS, core.sharedLimits).count,
  });
  const { requestDetails } = core.extensions;
  const consent = consentRoutes({ ...options, roleIn: core.applications.roleIn, requestDetails });
  const setUp = setUpRoutes({ ...options, setUps: core.extensions.setUps });
  addPreviewRoutes(core.accountPages, core);
  return {
    routers: [routes, setUp, consent],
    pages: ['/sign-in', '/consent'],
    passwordPaths: ['/sign-in'],
    extensions: { provider: [{ pages: createProviderPages(core) }] },
  };
}
