/** How many requests of one page run at a time. */
export const MAX_CONCURRENT = 4;

/** Does the work for each of the inputs, a few at a time. When one fails, no more are begun. */
export async function concurrently<T, R>(
  inputs: readonly T[],
  work: (input: T) => Promise<R>,
): Promise<readonly R[]> {
  const outcomes: R[] = [];
  const left = [...inputs.entries()];
  async function next(): Promise<void> {
    for (let entry = left.shift(); entry !== undefined; entry = left.shift()) {
      const [at, input] = entry;
      outcomes[at] = await work(input);
    }
  }
  const workers = Array.from({ length: MAX_CONCURRENT }, next);
  try {
    await Promise.all(workers);
  } finally {
    left.length = 0;
    await Promise.allSettled(workers);
  }
  return outcomes;
}
