import type { Logger } from '@gatehouse/core/logger';
import type { Broadcast } from './broadcast.ts';

type Listener = (message: unknown) => void;

/** No subjects. */
const CONNECTED = ' connected';
const DISCONNECTED = ' disconnected';

/** The listeners of one broadcast within this process. A failing listener is logged, and does not keep others from the message. */
export function createListeners(logger: Logger | undefined) {
  // Each listener has its own entry, because the same function may be added twice.
  const bySubject = new Map<string, Set<{ call: Listener }>>();

  function add(subject: string, listener: Listener): () => void {
    const entry = { call: listener };
    const entries = bySubject.get(subject) ?? new Set();
    bySubject.set(subject, entries.add(entry));
    return () => {
      entries.delete(entry);
      if (entries.size === 0 && bySubject.get(subject) === entries) bySubject.delete(subject);
    };
  }

  /** Calls each listener of the subject with its own copy of the JSON value. Throws a SyntaxError if it is none. */
  function dispatch(subject: string, json: string): void {
    for (const entry of [...(bySubject.get(subject) ?? [])]) {
      const message: unknown = JSON.parse(json);
      // A listener may be an async function, whose rejection would end the process.
      (async () => entry.call(message))().catch((error: unknown) => {
        logger?.error({ err: error }, 'a listener of the broadcast failed');
      });
    }
  }

  return {
    on: {
      subscribe(subject, listener) {
        checkSubject(subject);
        return add(subject, listener);
      },
      onReconnect: (listener) => add(CONNECTED, listener),
      onDisconnect: (listener) => add(DISCONNECTED, listener),
    } satisfies Partial<Broadcast>,
    /** The subjects that have listeners. */
    subjects: () => [...bySubject.keys()].filter((it) => it !== CONNECTED && it !== DISCONNECTED),
    dispatch,
    connected: () => dispatch(CONNECTED, 'null'),
    disconnected: () => dispatch(DISCONNECTED, 'null'),
  };
}

/** Throws a TypeError unless it is a plain subject: words of letters, digits, `-` and `_`, separated by dots. */
export function checkSubject(subject: string): void {
  if (!/^[\w-]+(?:\.[\w-]+)*$/.test(subject)) throw new TypeError(`'${subject}' is not a valid subject.`);
}

/** The message as JSON; throws a TypeError for a value that JSON cannot represent. */
export function encode(message: unknown): string {
  const json: string | undefined = JSON.stringify(message);
  if (json === undefined) throw new TypeError('A message must be a JSON value.');
  return json;
}
