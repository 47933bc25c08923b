import type { Logger } from '@gatehouse/core/logger';

/** The listeners within this process. A failing listener is logged, and does not keep others from the message. */
export type Listeners = {
  add(subject: string, listener: (message: unknown) => void): () => void;
  /** The subjects that have listeners. */
  subjects(): string[];
  /** Calls each listener of the subject with its own copy of the JSON value. */
  deliver(subject: string, json: string): void;
  addOnConnect(listener: () => void): () => void;
  connected(): void;
  addOnDisconnect(listener: () => void): () => void;
  disconnected(): void;
};

/** The listeners of one broadcast. */
export function createListeners(logger: Logger | undefined): Listeners {
  // Each listener has its own entry, because the same function may be added twice.
  const bySubject = new Map<string, Set<{ call: (message: unknown) => void }>>();
  const onConnect = new Set<{ call: () => void }>();
  const onDisconnect = new Set<{ call: () => void }>();

  function run(action: () => unknown): void {
    // A listener may be an async function, whose rejection would end the process.
    (async () => action())().catch((error: unknown) => {
      logger?.error({ err: error }, 'a listener of the broadcast failed');
    });
  }

  function adder(entries: Set<{ call: () => void }>) {
    return (listener: () => void) => {
      const entry = { call: listener };
      entries.add(entry);
      return () => void entries.delete(entry);
    };
  }

  return {
    add(subject, listener) {
      checkSubject(subject);
      const entry = { call: listener };
      const entries = bySubject.get(subject) ?? new Set();
      bySubject.set(subject, entries.add(entry));
      return () => {
        entries.delete(entry);
        if (entries.size === 0 && bySubject.get(subject) === entries) bySubject.delete(subject);
      };
    },
    subjects: () => [...bySubject.keys()],
    deliver(subject, json) {
      for (const entry of [...(bySubject.get(subject) ?? [])]) run(() => entry.call(JSON.parse(json)));
    },
    addOnConnect: adder(onConnect),
    connected() {
      for (const entry of [...onConnect]) run(entry.call);
    },
    addOnDisconnect: adder(onDisconnect),
    disconnected() {
      for (const entry of [...onDisconnect]) run(entry.call);
    },
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
