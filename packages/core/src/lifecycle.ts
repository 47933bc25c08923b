/** A part of the service that has to be started, or stopped, or both. */
export type Part = { start?(): unknown; stop?(): unknown };

/** Starts parts in the order given, each after the one before it has started, and stops them in reverse. */
export function createLifecycle(parts: readonly Part[]) {
  return {
    async start(): Promise<void> {
      for (const part of parts) await part.start?.();
    },
    /** Stops every part, whether or not it has started. Throws an AggregateError when some fail to stop. */
    async stop(): Promise<void> {
      const failures: unknown[] = [];
      for (const part of parts.toReversed()) {
        try {
          await part.stop?.();
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw new AggregateError(failures, 'not every part has stopped');
    },
  };
}
