import { createOutbound } from '@gatehouse/outbound/outbound';
import type { Logout } from '../../core/oidc/epochs/sign-outs.ts';
import type { ProviderExtension } from '../../core/oidc/provider-options.ts';
import type { Ports, WithSettings } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { createLogoutHandler, MAX_ATTEMPTS } from './logout-handler.ts';
import { createLogoutJobs, LANE, LOGOUTS } from './logout-jobs.ts';
import { routeLogouts } from './provider-logout.ts';
import type { logoutSettings } from './settings.ts';

/** For the response to a request: as long as oidc-provider itself waits. */
const RESPONSE_MS = 2500;

/** Notifications that are sent at the same time. */
const SLOTS = 16;
/** Longer than a request takes, in milliseconds. */
const TIMEOUT_MS = 10_000;

/** Notifying applications of sign-outs (OpenID Connect Back-Channel Logout 1.0). */
export function backchannelLogout(
  core: Ports<'applications' | 'tokens'> & WithSettings<typeof logoutSettings>,
): IdentityModule {
  const { config, provider, applicationStore, connection, queues, logger } = core;
  const { kind, add } = createLogoutJobs(connection);
  const queue = queues({ name: 'logouts', lanes: [LANE], kind });
  const worker = queue.work({
    lane: LANE,
    handler: createLogoutHandler({ provider: provider.current, logger }),
    slots: SLOTS,
    timeoutMs: TIMEOUT_MS,
    maxAttempts: MAX_ATTEMPTS,
  });

  /** Notifies an application, if it listens. Durable when it resolves. Never rejects: the session has ended. */
  async function send(logout: Logout): Promise<void> {
    try {
      const { clientId: client } = logout;
      // A client that describes itself in a document is in no store, and has no URI.
      const application = await applicationStore.findById(client);
      if (application?.backchannelLogoutUri === undefined) return;
      queue.announce(await add(logout, application.owner ?? client));
    } catch (error) {
      logger.error({ err: error, client: logout.clientId }, 'an application is not notified of a sign-out');
    }
  }

  const extension: ProviderExtension = {
    configure(configuration) {
      Object.assign(configuration.features, { backchannelLogout: { enabled: true } });
      configuration.fetch = logoutRequests(config.logoutNetworks ?? []);
    },
    attach: (built) => routeLogouts(built, send),
  };
  return {
    parts: [worker],
    collections: [LOGOUTS],
    extensions: { logoutListeners: [send], provider: [extension] },
  };
}

/**
 * The requests of oidc-provider, which are the notifications of OpenID Connect Back-Channel Logout 1.0 §2.5: to public
 * addresses, and to those in the allowed networks (addresses and CIDR ranges).
 */
function logoutRequests(networks: readonly string[]) {
  const outbound = createOutbound({ to: 'public', networks, timeoutMs: RESPONSE_MS });
  return async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await outbound.fetch(String(url), init);
    // Only the status counts (§2.8).
    await response.body?.cancel();
    return response;
  };
}
