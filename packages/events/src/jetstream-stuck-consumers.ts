import type { Logger } from '@gatehouse/core/logger';
import type { NatsConnection } from '@nats-io/transport-node';
import type { JetStream } from './jetstream-streams.ts';

/**
 * A consumer gets stuck when its server is killed: so long after a server was first met, each request that brought nothing is looked
 * at, and later one of each consumer in so much time, as another server of a cluster may have been killed. In milliseconds.
 */
const LOOK_MS = 60_000;

/**
 * Removes consumers that have messages and deliver none, to be created again: then they deliver all that is in the stream, messages
 * included that are being handled or wait for their next attempt.
 *
 * A server before 2.10.25 that was killed may take messages that are gone for unacknowledged, and while it tries to deliver
 * them, it delivers no others (https://github.com/nats-io/nats-server/pull/6387).
 */
export function createStuckConsumers(logger: Logger) {
  /** The consumers at which the last request got nothing, although there were messages. */
  const suspects = new Set<string>();
  const lookedAt = new Map<string, number>();
  let server: { id: string | undefined; metAt: number } | undefined;

  function isDue({ info }: NatsConnection, key: string): boolean {
    const now = performance.now();
    if (server === undefined || info?.server_id !== server.id) server = { id: info?.server_id, metAt: now };
    const since = Math.max(server.metAt, lookedAt.get(key) ?? Number.NEGATIVE_INFINITY);
    return now - server.metAt < LOOK_MS || now - since >= LOOK_MS || suspects.has(key);
  }

  return {
    /** To be called after a request that brought messages. */
    delivers: (stream: string, consumer: string) => void suspects.delete(`${stream}.${consumer}`),

    /** To be called after a request that waited and brought nothing, or was not answered; resolves to whether the consumer was removed. */
    async removeIfStuck({ nats, manager }: JetStream, stream: string, consumer: string): Promise<boolean> {
      const key = `${stream}.${consumer}`;
      if (!isDue(nats, key)) return false;
      lookedAt.set(key, performance.now());
      const { num_pending, num_ack_pending, config, paused } = await manager.consumers.info(stream, consumer);
      const { max_ack_pending = 0 } = config;
      // One that gives out one message at a time is always full when it is stuck.
      const isFull = max_ack_pending > 1 && num_ack_pending >= max_ack_pending;
      const isSuspected = suspects.delete(key);
      if (num_pending === 0 || isFull || paused === true) return false;
      if (!isSuspected) {
        // A message may have come between the request and this one; hardly twice in a row.
        suspects.add(key);
        return false;
      }
      logger.warn(
        { stream, consumer, waiting: num_pending },
        'a consumer of NATS was stuck, and is created again',
      );
      return manager.consumers.delete(stream, consumer);
    },
  };
}
