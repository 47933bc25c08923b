import { MULTI_FACTOR } from '@gatehouse/tokens/acr';
import type { Ports } from '../../core/ports.ts';
import type { FactorList } from '../../core/sessions/listed-factors.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { t } from '../../texts/texts.ts';
import { APP_CHANGES } from './app-notices.ts';
import { authenticatorAppPart, recoveryCodesPart, SET_UP } from './authenticator-app-pages.ts';
import { addAuthenticatorAppRoutes } from './authenticator-app-routes.ts';
import { createAuthenticatorAppStore } from './authenticator-app-store.ts';
import { createAuthenticatorApps } from './authenticator-apps.ts';
import { createAppChanges } from './changes.ts';
import { authenticatorAppFactors } from './second-factors.ts';

/** Codes of an authenticator app (RFC 6238) as a second factor, and recovery codes for when the app is lost. */
export function authenticatorApp(core: Ports<'accounts' | 'sessions' | 'pages'>): IdentityModule {
  const apps = createAuthenticatorApps({
    ...core,
    store: createAuthenticatorAppStore(core.connection, core.removedMethods),
  });
  const changes = createAppChanges({ ...core, apps });
  const factors: FactorList = {
    async list(userId) {
      const app = await apps.find(userId);
      if (app === undefined) return [];
      const { id, createdAt, lastUsedAt, recoveryCodes } = app;
      return [
        {
          id,
          type: 'authenticator_app',
          name: null,
          createdAt,
          lastUsedAt,
          recoveryCodesLeft: recoveryCodes.length,
        },
      ];
    },
    remove: changes.remove,
  };
  addAuthenticatorAppRoutes(core.accountPages, { ...core, apps, changes });
  return {
    extensions: {
      secondFactors: [authenticatorAppFactors({ ...core, apps })],
      factors: [factors],
      undoableChanges: APP_CHANGES,
      setUps: [
        {
          ...{ path: SET_UP, acr: MULTI_FACTOR },
          label: () => t('Set up an authenticator app'),
          hint: () => t('You sign in with your password and a code that an app on your phone shows.'),
        },
      ],
      securityParts: [
        {
          title: 'Authenticator app',
          content: async ({ signedIn }) => authenticatorAppPart(await apps.find(signedIn.account.id)),
        },
        {
          title: 'Recovery codes',
          content: async ({ signedIn }) => recoveryCodesPart(await apps.find(signedIn.account.id)),
        },
      ],
      erasers: [(userId) => apps.removeSince(userId)],
    },
  };
}
