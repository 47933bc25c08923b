import { continueTrace, during } from '@gatehouse/core/tracing';
import type { OutboxEvent } from '@gatehouse/data/outbox';

/** Publishes an event in a span of the trace that caused it, which becomes that of the event. */
export async function publishTraced(
  event: OutboxEvent,
  publish: (event: OutboxEvent) => unknown,
): Promise<void> {
  const { id, subject } = event;
  const span = continueTrace(event.traceparent, `publish ${subject}`, {
    kind: 'producer',
    attributes: { 'messaging.destination.name': subject, 'messaging.message.id': id },
  });
  const caused = span === undefined ? event : { ...event, traceparent: span.traceparent };
  await during(span, async () => publish(caused));
}
