import { createClientCredentials } from '../../core/oidc/clients/client-credentials.ts';
import type { Ports, WithSettings } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { oauthOperations } from './oauth-operations.ts';
import { oauthRoutes } from './oauth-routes.ts';
import type { oauthSettings } from './settings.ts';
import { userInfoRoutes } from './user-info-routes.ts';

/** The endpoints of OAuth and OpenID Connect that oidc-provider does not answer alone. */
export function oauth(
  core: Ports<'accounts' | 'applications' | 'tokens'> & WithSettings<typeof oauthSettings>,
): IdentityModule {
  const { verifyForAnyResource: verify, authenticate } = core.authentication;
  const clientCredentials = createClientCredentials({ ...core, lifetime: core.lifetimes.accessToken });
  return {
    routers: [
      oauthRoutes({ ...core, verify, clientCredentials }),
      userInfoRoutes({ ...core, authenticate, defaultProfile: core.config.userInfo }),
    ],
    operations: oauthOperations,
  };
}
