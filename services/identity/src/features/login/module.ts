import { createLastUsedRecorder } from '../../core/last-used.ts';
import type { Ports, WithSettings } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { authRoutes } from './auth-routes.ts';
import { createLoginStore } from './login-store.ts';
import { createLogins } from './logins.ts';
import type { loginSettings } from './settings.ts';

/** Logins at the API, with a password. */
export function login(
  core: Ports<'accounts' | 'sessions' | 'tokens'> & WithSettings<typeof loginSettings>,
): IdentityModule {
  const store = createLoginStore(core.connection);
  const recordUse = createLastUsedRecorder((id, { at }) => store.used(id, at));
  const logins = createLogins({ store, revocations: core.revocations, recordUse });
  const routes = authRoutes({
    ...core,
    logins,
    passwordLogin: core.config.passwordLogin !== 'off',
    endGrant: core.store.endGrant,
  });
  return {
    apis: [routes],
    collections: [store.collection],
    passwordPaths: ['/api/v1/auth/login'],
    extensions: { programs: [logins] },
  };
}
