/** Follows the running numbers of publishers, each of which sends something every so often. */
export type PublisherWatch = {
  /** From now on somebody must be heard. */
  begin(): void;
  /** Notes a message; returns whether it is certain that none of this publisher's was missed before it. */
  hear(from: string, n: number): boolean;
  /** How many have gone silent; 1 when nobody at all is heard. */
  silent(): number;
  /** In how many milliseconds the next one would count as silent. */
  nextSilence(): number;
};

/** Durations in milliseconds. A publisher that has been silent for `forgottenAfter` has ended. */
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
