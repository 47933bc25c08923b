import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { within } from '@gatehouse/core/within';
import {
  type ConnectionOptions,
  connect,
  type NatsConnection,
  type Subscription,
} from '@nats-io/transport-node';
import type { Broadcast } from './broadcast.ts';
import { createFailureLog } from './failure-log.ts';
import { checkSubject, createListeners, encode } from './listeners.ts';

const CONNECT_TIMEOUT_MS = 3000;
/** For the server to confirm that it has read everything sent to it. */
const FLUSH_TIMEOUT_MS = 2000;
/** The third ping without a response ends the connection. */
const PING_INTERVAL_MS = 3000;
/** Short, so that a message that waits for a connection, such as a revocation, waits less than a second. */
const RETRY_DELAY_MS = { first: 100, max: 500 };

export type NatsBroadcast = Broadcast & {
  /** The current connection, if there is one. */
  connection(): NatsConnection | undefined;
};

/**
 * A broadcast between processes over core NATS: every subscriber gets every message. Connects, and reconnects, in the
 * background for as long as it takes. publish() resolves when the server has read the message, and rejects with
 * `unavailable` while there is no connection.
 */
export function createNatsBroadcast(options: {
  /** nats://[user:password@ or token@]host[:port]; tls:// requires TLS. */
  url: string;
  /** Shown in the server's monitoring. */
  name: string;
  logger: Logger;
}): NatsBroadcast {
  const { logger } = options;
  const settings = connectionOptions(options.url, options.name);
  const listeners = createListeners(logger);
  const stopping = new AbortController();
  /** The subscriptions of the current connection, by subject. */
  const subscriptions = new Map<string, Subscription>();
  const logFailure = createFailureLog(logger, 'NATS cannot be reached', stopping.signal);
  let connection: NatsConnection | undefined;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    let delay = RETRY_DELAY_MS.first;
    while (!stopping.signal.aborted) {
      try {
        const nats = await connect(settings);
        delay = RETRY_DELAY_MS.first;
        await serve(nats);
        if (stopping.signal.aborted) return;
        logger.warn('the connection to NATS was lost; reconnecting');
      } catch (error) {
        if (stopping.signal.aborted) return;
        logFailure(error, { retry_in_ms: delay });
      }
      listeners.disconnected();
      // Jitter, so that the replicas do not all reconnect at the same moment.
      await sleep(delay * (0.5 + Math.random() / 2), undefined, { signal: stopping.signal }).catch(() => {});
      delay = Math.min(delay * 2, RETRY_DELAY_MS.max);
    }
  }

  /** Resolves when the connection has ended. */
  async function serve(nats: NatsConnection): Promise<void> {
    try {
      if (stopping.signal.aborted) return;
      void logErrors(nats, logger);
      connection = nats;
      for (const subject of listeners.subjects()) listen(nats, subject);
      // Once the server has answered, it has read the subscriptions, too.
      await flush(nats);
      logger.info({ server: nats.getServer() }, 'connected to NATS');
      listeners.connected();
      await nats.closed();
    } finally {
      connection = undefined;
      subscriptions.clear();
      await nats.close();
    }
  }

  function listen(nats: NatsConnection, subject: string): void {
    if (subscriptions.has(subject)) return;
    const callback = (error: Error | null, message: { data: Uint8Array; string(): string }) => {
      // Errors, such as a missing permission, are reported by the connection's status.
      if (error !== null) return;
      try {
        listeners.dispatch(subject, message.string());
      } catch {
        logger.warn({ subject, bytes: message.data.length }, 'dropped a message that is not JSON');
      }
    };
    subscriptions.set(subject, nats.subscribe(subject, { callback }));
  }

  return {
    ...listeners.on,
    connection: () => connection,
    async publish(subject, message) {
      checkSubject(subject);
      const json = encode(message);
      const nats = connection;
      if (nats === undefined || stopping.signal.aborted)
        throw unavailable('There is no connection to NATS at the moment.');
      nats.publish(subject, json);
      await flush(nats);
    },
    subscribe(subject, listener) {
      const remove = listeners.on.subscribe(subject, listener);
      if (connection !== undefined) listen(connection, subject);
      return () => {
        remove();
        if (listeners.subjects().includes(subject)) return;
        subscriptions.get(subject)?.unsubscribe();
        subscriptions.delete(subject);
      };
    },
    async start() {
      running ??= run();
    },
    async stop() {
      stopping.abort();
      const nats = connection;
      if (nats !== undefined) {
        await within(FLUSH_TIMEOUT_MS, nats.drain()).catch(() => {});
        await nats.close();
      }
      await running;
    },
  };
}

async function logErrors(nats: NatsConnection, logger: Logger): Promise<void> {
  for await (const status of nats.status()) {
    if (status.type === 'error') logger.error({ err: status.error }, 'NATS reports an error');
    if (status.type === 'staleConnection') logger.warn('NATS has stopped answering');
  }
}

/** Resolves when the server has read everything sent to it. */
async function flush(nats: NatsConnection): Promise<void> {
  await within(FLUSH_TIMEOUT_MS, nats.flush()).catch((error: unknown) => {
    throw unavailable('NATS does not answer at the moment.', error);
  });
}

/** Takes the credentials out of the URL, so that no error or log can quote them. */
function connectionOptions(text: string, name: string): ConnectionOptions {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['nats:', 'tls:'].includes(url.protocol) || url.hostname === '') {
    throw new TypeError('The URL of NATS must be nats://host:port or tls://host:port.');
  }
  const user = decodeURIComponent(url.username);
  const pass = decodeURIComponent(url.password);
  return {
    servers: `${url.hostname}:${url.port || 4222}`,
    name,
    ...(pass !== '' ? { user, pass } : user !== '' ? { token: user } : {}),
    ...(url.protocol === 'tls:' ? { tls: {} } : {}),
    timeout: CONNECT_TIMEOUT_MS,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: 2,
    // run() reconnects, so that it never gives up and publish() knows of it.
    reconnect: false,
    // Otherwise each request takes a stack trace, in case that it fails.
    noAsyncTraces: true,
  };
}
