import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/logger';
import {
  type ConnectionOptions,
  connect,
  type NatsConnection,
  type Subscription,
} from '@nats-io/transport-node';
import type { Broadcast } from './broadcast.ts';
import { checkSubject, createListeners, encode } from './listeners.ts';

/** In milliseconds. */
const TIMEOUTS = {
  /** For the server to take a connection. */
  connect: 3000,
  /** For the server to answer that it has read what was sent. */
  answer: 2000,
  /** Between two looks whether the server is alive; the third without an answer ends the connection. */
  ping: 3000,
};
const RETRY_DELAY = { first: 100, most: 3000 };

/**
 * A broadcast between processes over core NATS: each one that subscribes gets every message. Connects in the
 * background and again for ever. publish() resolves when the server has read the message, and rejects with
 * `unavailable` while there is no connection. `url` is nats://[user[:password]@]host[:port], with one word before the
 * @ a token; tls:// insists on TLS. `name` shows in the server's monitoring.
 */
export function createNatsBroadcast(options: { url: string; name: string; logger: Logger }): Broadcast {
  const { logger } = options;
  const settings = connectionOptions(options.url, options.name);
  const listeners = createListeners(logger);
  const stopping = new AbortController();
  /** Of the connection. */
  const subscriptions = new Map<string, Subscription>();
  let connection: NatsConnection | undefined;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    let delay = RETRY_DELAY.first;
    while (!stopping.signal.aborted) {
      try {
        const nats = await connect(settings);
        delay = RETRY_DELAY.first;
        await serve(nats);
        if (stopping.signal.aborted) return;
        logger.warn('the connection to NATS was lost; connecting anew');
      } catch (error) {
        if (stopping.signal.aborted) return;
        logger.warn({ err: error, retry_in_ms: delay }, 'NATS cannot be reached');
      }
      // A different moment for each replica, so that a server that comes back is not met by all of them at once.
      await sleep(delay * (0.5 + Math.random() / 2), undefined, { signal: stopping.signal }).catch(() => {});
      delay = Math.min(delay * 2, RETRY_DELAY.most);
    }
  }

  /** Resolves when the connection has ended. */
  async function serve(nats: NatsConnection): Promise<void> {
    try {
      if (stopping.signal.aborted) return;
      void logErrors(nats);
      connection = nats;
      for (const subject of listeners.subjects()) listen(nats, subject);
      // After the answer the server has read the subscriptions, too.
      await answered(nats);
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
      // Of an error, such as a missing permission, the connection's status tells.
      if (error !== null) return;
      const json = message.string();
      if (isJson(json)) listeners.deliver(subject, json);
      else logger.warn({ subject, bytes: message.data.length }, 'dropped a message that is not JSON');
    };
    subscriptions.set(subject, nats.subscribe(subject, { callback }));
  }

  async function logErrors(nats: NatsConnection): Promise<void> {
    for await (const status of nats.status()) {
      if (status.type === 'error') logger.error({ err: status.error }, 'NATS reports an error');
      if (status.type === 'staleConnection') logger.warn('NATS does not answer any more');
    }
  }

  return {
    async publish(subject, message) {
      checkSubject(subject);
      const json = encode(message);
      const nats = connection;
      if (nats === undefined || stopping.signal.aborted)
        throw unavailable('There is no connection to NATS just now.');
      nats.publish(subject, json);
      await answered(nats);
    },
    subscribe(subject, listener) {
      const remove = listeners.add(subject, listener);
      if (connection !== undefined) listen(connection, subject);
      return () => {
        remove();
        if (listeners.subjects().includes(subject)) return;
        subscriptions.get(subject)?.unsubscribe();
        subscriptions.delete(subject);
      };
    },
    onReconnect: listeners.addOnConnect,
    async start() {
      running ??= run();
    },
    async stop() {
      stopping.abort();
      const nats = connection;
      if (nats !== undefined) {
        await within(TIMEOUTS.answer, nats.drain()).catch(() => {});
        await nats.close();
      }
      await running;
    },
  };
}

/** Waits until the server has read all that was sent to it. */
async function answered(nats: NatsConnection): Promise<void> {
  await within(TIMEOUTS.answer, nats.flush()).catch((error: unknown) => {
    throw unavailable('NATS does not answer just now.', error);
  });
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = sleep(ms, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`no answer within ${ms} ms`);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
    late.catch(() => {});
    promise.catch(() => {});
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The credentials leave the URL, so that no error or log can quote them. */
function connectionOptions(text: string, name: string): ConnectionOptions {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['nats:', 'tls:'].includes(url.protocol) || url.hostname === '') {
    throw new TypeError('The URL of NATS is nats://host:port or tls://host:port.');
  }
  const user = decodeURIComponent(url.username);
  const pass = decodeURIComponent(url.password);
  return {
    servers: `${url.hostname}:${url.port || 4222}`,
    name,
    ...(pass !== '' ? { user, pass } : user !== '' ? { token: user } : {}),
    ...(url.protocol === 'tls:' ? { tls: {} } : {}),
    timeout: TIMEOUTS.connect,
    pingInterval: TIMEOUTS.ping,
    maxPingOut: 2,
    // Connecting anew is done here, where it never ends and publish() knows of it.
    reconnect: false,
  };
}
