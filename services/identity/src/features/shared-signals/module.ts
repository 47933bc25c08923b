import { createSealer, deriveKeys } from '@gatehouse/core/sealing';
import { createOutbound } from '@gatehouse/outbound/outbound';
import { isTrustedIssuer } from '../../core/extensions.ts';
import type { Ports, WithSettings } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { addDeliveryRoutes } from './delivery-routes.ts';
import { createEventPolls } from './event-polls.ts';
import { createEventQueue, EVENTS, LANE } from './event-queue.ts';
import { createEventStreamStore } from './event-stream-store.ts';
import { createEventStreams } from './event-streams.ts';
import { createEventTokens } from './event-token.ts';
import { BACKOFF_MS, createPushHandler, MAX_ATTEMPTS } from './push-handler.ts';
import { createSecurityEvents } from './security-events.ts';
import type { sharedSignalSettings } from './settings.ts';
import { createStreamApi } from './stream-api.ts';
import { createStreamPauses } from './stream-pauses.ts';
import { createStreamRight } from './stream-right.ts';
import { addStreamRoutes } from './stream-routes.ts';
import { transmitterRoutes } from './transmitter-routes.ts';

/** Events that are sent at the same time. */
const SLOTS = 16;
const RESPONSE_MS = 10_000;
/** Longer than a request takes. */
const TIMEOUT_MS = 15_000;

/** Security events to applications (Shared Signals 1.0). */
export function sharedSignals(
  core: Ports<'accounts' | 'applications' | 'tokens'> & WithSettings<typeof sharedSignalSettings>,
): IdentityModule {
  const { connection, issuer, logger } = core;
  const { sharedSignalsNetworks: networks = [] } = core.config;
  const store = createEventStreamStore(connection);
  const events = createEventQueue(core);
  const right = createStreamRight({ ...core, isTrusted: isTrustedIssuer(core.extensions) });
  const tokenOf = createEventTokens(issuer, core.signing.eventSigner);
  const sealer = createSealer(deriveKeys(core.masterKeys, 'shared signals'));
  const outbound = createOutbound({ to: 'public', networks, timeoutMs: RESPONSE_MS, maxBytes: 16 * 1024 });
  const notePause = createStreamPauses({ streams: store, events });
  const worker = events.work({
    lane: LANE,
    handler: createPushHandler({
      streams: store,
      events,
      notePause,
      right,
      tokenOf,
      sealer,
      outbound,
      logger,
    }),
    slots: SLOTS,
    timeoutMs: TIMEOUT_MS,
    maxAttempts: MAX_ATTEMPTS,
    backoffMs: BACKOFF_MS,
  });
  const polls = createEventPolls({ streams: store, events, tokenOf, logger });
  const security = createSecurityEvents({ ...core, streams: store, events, right });
  const streams = createEventStreams({ ...core, store, events, right, sealer });
  const streamApi = createStreamApi({ ...core, store, right });
  addStreamRoutes(streamApi, { issuer, streams, allowsLoopback: networks.length > 0 });
  addDeliveryRoutes(streamApi, { ...core, streams, store, events, right, polls });
  return {
    apis: [transmitterRoutes(issuer), streamApi.api],
    parts: [worker, polls],
    collections: [EVENTS],
    extensions: {
      grantListeners: [security.grantEnds],
      accountListeners: [security.accountChanged],
      auditListeners: [security.recorded],
      erasers: [security.erase],
      applicationErasers: [streams.removeOf],
    },
  };
}
