import type { Core } from '../../core/core.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { createLogoutNotifications } from './logout-notifications.ts';
import { logoutRequests } from './logout-requests.ts';
import { routeLogouts } from './provider-logout.ts';

/** Notifying applications of sign-outs (OpenID Connect Back-Channel Logout 1.0). */
export function backchannelLogout({ config, provider, extensions, logger }: Core): IdentityModule {
  const { send, stop } = createLogoutNotifications({ provider: provider.current, logger });
  extensions.logoutListeners.push(send);
  extensions.provider.push({
    configure(configuration) {
      Object.assign(configuration.features, { backchannelLogout: { enabled: true } });
      configuration.fetch = logoutRequests(config.logoutNetworks ?? []);
    },
    attach(built) {
      routeLogouts(built, send);
      built.on('backchannel.error', (_ctx, error, { clientId: client }) =>
        logger.warn({ err: error, client }, 'an application could not be notified of a sign-out'),
      );
    },
  });
  return { parts: [{ stop }] };
}
