import type { Logger } from '@gatehouse/kit/logger';

/** Who listens within this process. A listener that fails is logged, and keeps no other from the message. */
export type Listeners = {
  add(subject: string, listener: (message: unknown) => void): () => void;
  /** The subjects that somebody listens to. */
  subjects(): string[];
  /** Calls each listener of the subject with its own copy of the JSON value. */
  deliver(subject: string, json: string): void;
  addOnConnect(listener: () => void): () => void;
  connected(): void;
};

/** The listeners of one broadcast. */
export function createListeners(logger: Logger | undefined): Listeners {
  // Entries of their own, as the same function may listen twice.
  const bySubject = new Map<string, Set<{ call: (message: unknown) => void }>>();
  const onConnect = new Set<{ call: () => void }>();

  function run(action: () => unknown): void {
    // A listener may be an async function, and its rejection would end the process.
    (async () => action())().catch((error: unknown) => {
      logger?.error({ err: error }, 'a listener of the broadcast failed');
    });
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
    addOnConnect(listener) {
      const entry = { call: listener };
      onConnect.add(entry);
      return () => void onConnect.delete(entry);
    },
    connected() {
      for (const entry of [...onConnect]) run(entry.call);
    },
  };
}

/** Throws a TypeError unless it is a plain subject: words of letters, digits, `-` and `_` with dots between. */
export function checkSubject(subject: string): void {
  if (!/^[\w-]+(?:\.[\w-]+)*$/.test(subject))
    throw new TypeError(`'${subject}' is no subject of a broadcast.`);
}

/** The message as JSON; throws a TypeError for what JSON cannot say. */
export function encode(message: unknown): string {
  const json: string | undefined = JSON.stringify(message);
  if (json === undefined) throw new TypeError('A message is a JSON value.');
  return json;
}
