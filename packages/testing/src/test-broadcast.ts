import { randomUUID } from 'node:crypto';

/** A publisher and its listeners, all in this process. */
export type TestBroadcast = {
  subscribe(subject: string, listener: (message: unknown) => void): () => void;
  onReconnect(listener: () => void): () => void;
  /** Never: what is cut does not show, as when a server does not respond. */
  onDisconnect(listener: () => void): () => void;
  /** Sends the publisher's next message: a revocation or, without one, a heartbeat. */
  send(revocation?: unknown): void;
  /** Interrupts it: the publisher's messages, heartbeats included, are lost from now on. */
  cut(): void;
  /** Ends the interruption; the listeners are called as after each connection. */
  mend(): void;
};

const HEARTBEAT_MS = 2000;

/** A broadcast whose publisher numbers its messages and sends heartbeats every two seconds until the test ends. */
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
  const beating = setInterval(() => send(), HEARTBEAT_MS).unref();
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
    onDisconnect: () => () => {},
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
