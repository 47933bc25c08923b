import { createInbox, headers, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { TIMEOUT_MS } from './jetstream-streams.ts';

type Waiting = { resolve(): void; reject(error: Error): void; timer: NodeJS.Timeout };
/** The responses of a connection, which come to one inbox, by the last word of their subject. */
type Responses = { inbox: string; last: number; waiting: Map<string, Waiting> };

const responsesOf = new WeakMap<NatsConnection, Responses>();

/**
 * Stores a message in the stream that takes its subject. Resolves when the server has stored it, or has one with the same id
 * that it got within the stream's duplicate window; rejects when it says otherwise or nothing.
 *
 * In place of JetStreamClient.publish(), which makes an error with a stack trace for every message, whatever becomes of it.
 * Source: https://docs.nats.io/reference/reference-protocols/nats_api_reference#publishing-to-a-stream
 */
export async function publishMessage(
  nats: NatsConnection,
  message: { subject: string; json: string; id?: string; traceparent?: string | undefined },
): Promise<void> {
  const responses = responsesOf.get(nats) ?? openInbox(nats);
  responses.last += 1;
  const word = responses.last.toString(36);
  const options: Parameters<NatsConnection['publish']>[2] = { reply: `${responses.inbox}.${word}` };
  if (message.id !== undefined) {
    options.headers = headers();
    options.headers.set('Nats-Msg-Id', message.id);
    if (message.traceparent !== undefined) options.headers.set('traceparent', message.traceparent);
  }
  nats.publish(message.subject, message.json, options);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      responses.waiting.delete(word);
      reject(new Error('NATS does not answer.'));
    }, TIMEOUT_MS);
    responses.waiting.set(word, { resolve, reject, timer });
  });
}

function openInbox(nats: NatsConnection): Responses {
  const responses: Responses = { inbox: createInbox(), last: 0, waiting: new Map() };
  const { waiting, inbox } = responses;
  const end = (word: string, error: Error | undefined) => {
    const found = waiting.get(word);
    if (found === undefined) return;
    waiting.delete(word);
    clearTimeout(found.timer);
    if (error === undefined) found.resolve();
    else found.reject(error);
  };
  const subscription = nats.subscribe(`${inbox}.*`, {
    callback(error, message) {
      if (error === null) end(message.subject.slice(inbox.length + 1), errorOf(message));
    },
  });
  subscription.closed.then((reason) => {
    // The connection may go on without it: when the server has not allowed the subscription, it may later.
    responsesOf.delete(nats);
    const error = reason instanceof Error ? reason : new Error('The connection to NATS was lost.');
    for (const word of [...waiting.keys()]) end(word, error);
  });
  responsesOf.set(nats, responses);
  return responses;
}

/** The error of the server for a message; undefined when it has stored it. */
function errorOf(response: Msg): Error | undefined {
  // Nobody listens: the subject belongs to no stream, or JetStream is off.
  if (response.headers?.code === 503) return new Error('No stream of NATS takes the message.');
  try {
    const { stream, error } = response.json<{ stream?: string; error?: { description?: string } }>();
    if (stream !== undefined && error === undefined) return undefined;
    return new Error(`NATS says: ${error?.description ?? 'no stream'}`);
  } catch {
    // Not of a server: every subscriber of the subject may respond. An error in a callback would end the reading of the connection.
    return new Error('The response is not one of JetStream.');
  }
}
