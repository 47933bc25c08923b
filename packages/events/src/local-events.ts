import type { Logger } from '@gatehouse/core/logger';
import type { OutboxEvent } from '@gatehouse/data/outbox';
import { checkSubject, encode } from './listeners.ts';

/** Takes a service's events to their consumers. */
export type EventTransport = {
  /**
   * Resolves when the event is certain to be delivered; after a rejection it is called with the event again. Consumers may get the same
   * event more than once, and recognize it by its id.
   */
  publish(event: OutboxEvent): Promise<void>;
};

/** Rejects to be called with the event again. */
export type EventHandler = (event: OutboxEvent) => unknown;

export type LocalEvents = EventTransport & {
  /**
   * Handles the events of a subject, in which `*` stands for one word and a final `>` for one or more. Returns a
   * function that unsubscribes. Throws a TypeError for an invalid subject.
   */
  subscribe(subject: string, handler: EventHandler): () => void;
};

/**
 * Events within this process, at least once: publish() rejects while a handler fails, and when the outbox tries again,
 * all handlers get the event again. Data is converted to JSON and back, so that nothing works here that would not work
 * between processes. Logs when a handler begins to fail, and when it works again.
 */
export function createLocalEvents({ logger }: { logger?: Logger } = {}): LocalEvents {
  const subscriptions = new Set<{ words: string[]; handler: EventHandler; failing: boolean }>();

  return {
    async publish(event) {
      checkSubject(event.subject);
      const data = encode(event.data);
      const subscribed = [...subscriptions].filter(({ words }) => matches(words, event.subject.split('.')));
      const results = await Promise.allSettled(
        subscribed.map(async ({ handler }) =>
          handler({ ...event, at: new Date(event.at), data: JSON.parse(data) }),
        ),
      );
      const about = { event: event.id, subject: event.subject };
      const reasons: unknown[] = [];
      for (const [i, result] of results.entries()) {
        const subscription = subscribed[i];
        const failed = result.status === 'rejected';
        if (failed) reasons.push(result.reason);
        if (subscription === undefined || subscription.failing === failed) continue;
        subscription.failing = failed;
        const named = { ...about, handles: subscription.words.join('.') };
        if (failed) logger?.warn({ err: result.reason, ...named }, 'a handler of events fails');
        else logger?.info(named, 'a handler of events works again');
      }
      if (reasons.length > 0) throw new AggregateError(reasons, `${reasons.length} handlers failed`);
    },
    subscribe(subject, handler) {
      checkPattern(subject);
      const subscription = { words: subject.split('.'), handler, failing: false };
      subscriptions.add(subscription);
      return () => void subscriptions.delete(subscription);
    },
  };
}

/** As in NATS: https://docs.nats.io/nats-concepts/subjects#wildcards */
function matches(pattern: readonly string[], words: readonly string[]): boolean {
  const open = pattern.at(-1) === '>';
  const fixed = open ? pattern.slice(0, -1) : pattern;
  if (open ? words.length <= fixed.length : words.length !== fixed.length) return false;
  return fixed.every((word, i) => word === '*' || word === words[i]);
}

function checkPattern(subject: string): void {
  if (/^(?:(?:[\w-]+|\*)\.)*(?:[\w-]+|\*|>)$/.test(subject)) return;
  throw new TypeError(`'${subject}' is not a valid subject to subscribe to.`);
}
