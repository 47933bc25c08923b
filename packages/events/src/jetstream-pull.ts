import {
  createInbox,
  type Msg,
  type NatsConnection,
  nanos,
  type Subscription,
} from '@nats-io/transport-node';

/** How long the server may take to answer. */
const RESPONSE_MS = 2000;

/** The server has not said that the time of a request is over. */
export class NoResponseError extends Error {}

type Inbox = {
  subject: string;
  subscription: Subscription;
  receive: (message: Msg) => void;
  /** Called when the connection is lost. */
  lost: () => void;
};
/** Inboxes without a request, by connection. */
const idleInboxes = new WeakMap<NatsConnection, Inbox[]>();

/** The message goes back to its consumer, for now or for a time. */
export function nak(nats: NatsConnection, reply: string, afterMs: number): void {
  nats.publish(reply, afterMs > 0 ? `-NAK ${JSON.stringify({ delay: nanos(afterMs) })}` : '-NAK');
}

/**
 * Takes messages of a pull consumer, with one request: up to `max` that are there, or the next one within `waitMs`. Rejects
 * when the server says that it cannot, and with UnansweredError when it does not answer.
 * Sources: ADR-13 of nats-architecture-and-design; the statuses 404 (none) and 408 (not as many) end a request.
 */
export async function pullMessages(
  nats: NatsConnection,
  stream: string,
  consumer: string,
  options: { max: number; waitMs: number; signal: AbortSignal },
): Promise<Msg[]> {
  const { max, waitMs, signal } = options;
  if (signal.aborted) return [];
  const inbox = idleInboxes.get(nats)?.pop() ?? openInbox(nats);
  const messages: Msg[] = [];
  const ended = Promise.withResolvers<'answered' | 'aborted'>();
  const abort = () => ended.resolve('aborted');
  const timer = setTimeout(
    () => ended.reject(new NoResponseError('NATS does not answer.')),
    waitMs + RESPONSE_MS,
  );
  inbox.lost = () => ended.reject(new Error('The connection to NATS was lost.'));
  inbox.receive = (message) => {
    const code = message.headers?.code ?? 0;
    if (code === 404 || code === 408) ended.resolve('answered');
    else if (code >= 400) ended.reject(new Error(`NATS says: ${message.headers?.description}`));
    else if (code === 0 && messages.push(message) === max) ended.resolve('answered');
  };
  signal.addEventListener('abort', abort);
  try {
    const wait = waitMs > 0 ? { batch: 1, expires: nanos(waitMs) } : { batch: max, no_wait: true };
    nats.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, JSON.stringify(wait), {
      reply: inbox.subject,
    });
    if ((await ended.promise) === 'answered') {
      release(nats, inbox);
      idleInboxes.set(nats, [...(idleInboxes.get(nats) ?? []), inbox]);
    } else await close(nats, inbox);
  } catch (error) {
    await close(nats, inbox);
    if (messages.length === 0) throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
  return messages;
}

function openInbox(nats: NatsConnection): Inbox {
  const subject = createInbox();
  const inbox: Inbox = {
    subject,
    receive() {},
    lost() {},
    subscription: nats.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) inbox.receive(message);
      },
    }),
  };
  // Once for all requests: what waits for the end of a connection is kept until then.
  const lost = () => inbox.lost();
  inbox.subscription.closed.then(lost, lost);
  return inbox;
}

/** Its request has ended, of which nothing is kept; what comes now is given back. */
function release(nats: NatsConnection, inbox: Inbox): void {
  inbox.lost = () => {};
  inbox.receive = ({ reply }) => {
    if (reply !== undefined && reply !== '') nak(nats, reply, 0);
  };
}

/** Gives back what the server has sent before it knows that nobody waits. */
async function close(nats: NatsConnection, inbox: Inbox): Promise<void> {
  release(nats, inbox);
  if (nats.isClosed()) return;
  // A drain never ends when the connection is lost meanwhile.
  const lost = new Promise<void>((resolve) => {
    inbox.lost = resolve;
  });
  await Promise.race([inbox.subscription.drain().catch(() => {}), lost]);
}
