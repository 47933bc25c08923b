import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@gatehouse/core/logger';
import type Provider from 'oidc-provider';
import { isMetadataDocumentId } from '../../core/oidc/clients/metadata-document-id.ts';
import { consentEpochOf, isOfConsentEpoch } from '../../core/oidc/epochs/consent-epochs.ts';
import type { Logout } from '../../core/oidc/epochs/sign-outs.ts';
import { sendLogoutToken } from './provider-logout.ts';

export type LogoutNotifications = {
  /** Notifies an application, if it listens, without making the caller wait. Never throws. */
  send(logout: Logout): void;
  /** Tries once more what has not arrived, for STOP_MS at most. */
  stop(): Promise<void>;
};

/** How long is waited before each further attempt. */
const RETRY_MS = [1000, 5000, 30_000];
/** How many attempts are made at the same time. */
const CONCURRENCY = 16;
/** How many notifications can be on their way. When there are more, applications do not answer. */
const MAX_PENDING = 10_000;
const STOP_MS = 5000;

/**
 * Tells applications of sign-outs (OpenID Connect Back-Channel Logout 1.0 §2.5). Each attempt has a token of its own, since
 * they are valid for two minutes.
 */
export function createLogoutNotifications(options: {
  provider(): Provider;
  logger: Logger;
  retryMs?: readonly number[];
}): LogoutNotifications {
  const { logger, retryMs = RETRY_MS } = options;
  const pending = new Set<Promise<void>>();
  const stopping = new AbortController();
  const queue: (() => void)[] = [];
  let free = CONCURRENCY;

  async function attempt({ clientId, accountId, sid, ...authorization }: Logout): Promise<void> {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      const client = await options.provider().Client.find(clientId);
      if (client?.backchannelLogoutUri === undefined) return;
      // An earlier owner's people are no business of the present owner's.
      if (!isOfConsentEpoch(authorization, consentEpochOf(client))) return;
      await sendLogoutToken(client, accountId, sid);
    } finally {
      const next = queue.shift();
      if (next === undefined) free += 1;
      else next();
    }
  }

  async function deliver(logout: Logout): Promise<void> {
    for (const [index, wait] of [...retryMs, undefined].entries()) {
      const isLast = wait === undefined || stopping.signal.aborted;
      try {
        return await attempt(logout);
      } catch (error) {
        const about = { err: error, client: logout.clientId, attempt: index + 1 };
        if (isLast) return logger.warn(about, 'an application could not be notified of a sign-out');
        logger.debug(about, 'an application could not be notified of a sign-out yet');
      }
      // A process that stops does not wait, and tries once more.
      await delay(wait, undefined, { signal: stopping.signal }).catch(() => {});
    }
  }

  return {
    send(logout) {
      // A client that describes itself in a document has no URI to be notified at, so it is not looked up.
      if (isMetadataDocumentId(logout.clientId)) return;
      if (pending.size >= MAX_PENDING) {
        logger.warn(
          { client: logout.clientId },
          'an application is not notified of a sign-out: too many wait',
        );
        return;
      }
      const delivery = deliver(logout).finally(() => pending.delete(delivery));
      pending.add(delivery);
    },
    async stop() {
      stopping.abort();
      await Promise.race([Promise.all(pending), delay(STOP_MS, undefined, { ref: false })]);
    },
  };
}
