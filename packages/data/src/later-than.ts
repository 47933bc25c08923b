/** A time of change that something has not had before, even within one millisecond or when the clock is set back. */
export function laterThan({ updatedAt }: { updatedAt: Date }): Date {
  return new Date(Math.max(Date.now(), updatedAt.getTime() + 1));
}
