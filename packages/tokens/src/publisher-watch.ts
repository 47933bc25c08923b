/** Follows publishers that number their messages and send one at a regular interval. */
export type PublisherWatch = {
  /** Starts the clock: from now on, hearing nobody counts as silence. */
  begin(): void;
  /** Notes a message; returns whether it is certain that none of the publisher's was missed before it. */
  hear(from: string, n: number): boolean;
  /** Notes that a publisher sends no more: it is not awaited. */
  forget(from: string): void;
  /** The number of silent publishers; 1 if no publisher is heard at all. */
  silent(): number;
  /** The time until the next publisher would count as silent, in milliseconds. */
  nextSilence(): number;
};

/** Durations in milliseconds. A publisher that is silent for `forgottenAfter` is taken to have ended. */
export function createPublisherWatch(options: {
  silentAfter: number;
  forgottenAfter: number;
}): PublisherWatch {
  const { silentAfter, forgottenAfter } = options;
  const heard = new Map<string, { n: number; at: number }>();
  let lastAt = performance.now();
  return {
    begin() {
      lastAt = performance.now();
    },
    hear(from, n) {
      const last = heard.get(from);
      lastAt = performance.now();
      heard.set(from, { n, at: lastAt });
      // A message may be sent twice.
      return n === last?.n || n === (last?.n ?? 0) + 1;
    },
    forget(from) {
      heard.delete(from);
    },
    silent() {
      const now = performance.now();
      let count = 0;
      for (const [from, { at }] of heard) {
        if (now - at > forgottenAfter) heard.delete(from);
        else if (now - at > silentAfter) count += 1;
      }
      return count === 0 && now - lastAt > silentAfter ? 1 : count;
    },
    nextSilence() {
      const last = Math.min(lastAt, ...[...heard.values()].map(({ at }) => at));
      return Math.max(0, last + silentAfter - performance.now()) + 1;
    },
  };
}
