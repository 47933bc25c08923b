import type { Core } from '../../core/core.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { oauthOperations } from './oauth-operations.ts';
import { oauthRoutes } from './oauth-routes.ts';
import { userInfoRoutes } from './user-info-routes.ts';

/** The endpoints of OAuth and OpenID Connect that oidc-provider does not answer alone. */
export function oauth(core: Core): IdentityModule {
  const { verifyAccessToken: verify } = core.authentication;
  return {
    routers: [
      oauthRoutes({ ...core, verify }),
      userInfoRoutes({ ...core, defaultProfile: core.config.userInfo }),
    ],
    operations: oauthOperations,
  };
}
