/** At most so many at once for each key; the others wait, first come, first served. */
export type Turns = {
  /** Whether one got a turn: false when too many wait already, or when it took longer than `patience` (ms). */
  take(key: string, patience: number): Promise<boolean>;
  /** Ends a turn that was taken. */
  end(key: string): void;
};

type Line = { taken: number; waiting: Set<() => void> };

/** `most` turns at once for each key; `mostWaiting` in all lines together, so that waiting costs no memory. */
export function createTurns({ most, mostWaiting }: { most: number; mostWaiting: number }): Turns {
  const lines = new Map<string, Line>();
  let allWaiting = 0;

  return {
    take(key, patience) {
      const line = lines.get(key) ?? { taken: 0, waiting: new Set() };
      if (line.taken < most) {
        line.taken += 1;
        lines.set(key, line);
        return Promise.resolve(true);
      }
      if (allWaiting >= mostWaiting) return Promise.resolve(false);
      return new Promise((resolve) => {
        const leave = (admitted: boolean) => {
          clearTimeout(timer);
          line.waiting.delete(admit);
          allWaiting -= 1;
          resolve(admitted);
        };
        const admit = () => leave(true);
        const timer = setTimeout(leave, patience, false);
        line.waiting.add(admit);
        allWaiting += 1;
      });
    },
    end(key) {
      const line = lines.get(key);
      if (line === undefined) return;
      const [next] = line.waiting;
      // The turn goes to the next one, so that nobody who comes at this moment takes it.
      if (next !== undefined) return next();
      line.taken -= 1;
      if (line.taken === 0) lines.delete(key);
    },
  };
}
