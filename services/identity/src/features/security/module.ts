import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { SECURITY } from '../../pages/account/security-path.ts';
import { factorRoutes } from './factor-routes.ts';
import { passwordResetRoutes } from './password-reset-routes.ts';
import { addSecurityRoutes, rememberedBrowsers } from './security-routes.ts';

/** How an account is signed in to, in one page and at the API: what the other features say of it, and the browsers that are remembered. */
export function security(core: Ports<'accounts' | 'applications' | 'sessions' | 'pages'>): IdentityModule {
  const { factors, programs, securityParts: parts } = core.extensions;
  const accountSections = [{ path: SECURITY, label: 'Security', subject: 'sign-in' } as const];
  addSecurityRoutes(core.accountPages, { ...core, parts });
  return {
    apis: [factorRoutes({ ...core, factors, programs }), passwordResetRoutes(core)],
    extensions: { accountSections, securityParts: [rememberedBrowsers(core.remembered)] },
  };
}
