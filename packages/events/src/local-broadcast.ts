import { setImmediate as nextTurn } from 'node:timers/promises';
import { unavailable } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import type { Broadcast } from './broadcast.ts';
import { checkSubject, createListeners, encode } from './listeners.ts';

/**
 * A broadcast within this process, as NATS is between processes. Services that share it share one start() and stop().
 * Messages are converted to JSON and back, so that nothing works here that would not work over NATS.
 */
export function createLocalBroadcast({ logger }: { logger?: Logger } = {}): Broadcast {
  const listeners = createListeners(logger);
  let started = false;
  let stopped = false;

  return {
    async publish(subject, message) {
      checkSubject(subject);
      const json = encode(message);
      if (!started || stopped) throw unavailable('The broadcast is not running.');
      setImmediate(() => listeners.dispatch(subject, json));
    },
    ...listeners.on,
    async start() {
      if (started) return;
      started = true;
      setImmediate(() => {
        if (!stopped) listeners.connected();
      });
    },
    async stop() {
      stopped = true;
      // After everything that was published.
      await nextTurn();
    },
  };
}
