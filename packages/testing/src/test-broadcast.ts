import { randomUUID } from 'node:crypto';

/** One publisher and its listeners, all in this process. */
export type TestBroadcast = {
  subscribe(subject: string, listener: (message: unknown) => void): () => void;
  onReconnect(listener: () => void): () => void;
  /** Sends the publisher's next message; without a revocation it is a heartbeat. */
  send(revocation?: unknown): void;
  /** While it is cut the publisher's messages, heartbeats too, get lost. */
  cut(): void;
  /** Ends the cut; the listeners are told that they are connected again. */
  mend(): void;
};

/** How often the publisher sends a heartbeat, in milliseconds. */
const HEARTBEAT = 2000;

/** A broadcast with a publisher that numbers its messages and sends heartbeats, until the test ends. */
export function createTestBroadcast(t: { teardown(fn: () => void): void }, subject: string): TestBroadcast {
  const listeners = new Set<(message: unknown) => void>();
  const reconnected = new Set<() => void>();
  const from = randomUUID();
  let n = 0;
  let isCut = false;

  const send: TestBroadcast['send'] = (revocation) => {
    n += 1;
    const message = JSON.stringify({ from, n, ...(revocation === undefined ? {} : { revocation }) });
    if (!isCut) for (const listener of listeners) queueMicrotask(() => listener(JSON.parse(message)));
  };
  const beating = setInterval(() => send(), HEARTBEAT).unref();
  t.teardown(() => clearInterval(beating));

  return {
    subscribe(to, listener) {
      if (to !== subject) return () => {};
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    onReconnect(listener) {
      reconnected.add(listener);
      return () => void reconnected.delete(listener);
    },
    send,
    cut() {
      isCut = true;
    },
    mend() {
      isCut = false;
      for (const listener of reconnected) listener();
    },
  };
}
