import type { EventQueue } from './event-queue.ts';
import type { EventStream } from './event-stream.ts';
import type { EventStreamStore } from './event-stream-store.ts';
import { STREAM_UPDATED } from './event-types.ts';

export const PAUSE_REASON =
  'The credential with which the stream was configured has ended. Set the status to enabled.';

/**
 * Notifies the receiver when the transmitter pauses or resumes its stream (Shared Signals 1.0 §8.1.5). The event is stored first, under an
 * ID that follows from the number of the turn, so a repetition stores nothing twice.
 */
export function createStreamPauses(options: {
  streams: Pick<EventStreamStore, 'setTurns'>;
  events: Pick<EventQueue, 'add'>;
}) {
  return async (stream: EventStream, isPaused: boolean): Promise<void> => {
    const { id, turns } = stream;
    if ((turns % 2 === 1) === isPaused) return;
    const payload = isPaused ? { status: 'paused', reason: PAUSE_REASON } : { status: 'enabled' };
    const cause = `${id} turn ${turns + 1}`;
    await options.events.add([{ stream, cause, accountId: null, type: STREAM_UPDATED, payload }]);
    await options.streams.setTurns(id, turns + 1);
  };
}
