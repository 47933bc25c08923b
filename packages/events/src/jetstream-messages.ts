import { jetstreamManager, type MsgRequest } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { TIMEOUT_MS } from './jetstream-streams.ts';

/** Passes on the messages of a stream, each of which is deleted when it has been handled. Ends at once if there is no such stream. */
export async function takeMessages(
  nats: NatsConnection,
  stream: string,
  handle: (value: unknown) => Promise<void>,
): Promise<void> {
  const { streams } = await jetstreamManager(nats, { timeout: TIMEOUT_MS, checkAPI: false });
  for (let seq = 1; ; ) {
    // The client passes on what its type does not know; servers have it since 2.9.
    const query = { seq, next_by_subj: '>' } as MsgRequest;
    const message = await streams.getMessage(stream, query).catch(() => null);
    if (message === null) return;
    await handle(message.json());
    await streams.deleteMessage(stream, message.seq);
    seq = message.seq + 1;
  }
}
