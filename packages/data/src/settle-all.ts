/**
 * Like Promise.all(), but settles only when all promises have. Use it for work that a limit counts: when one part fails at once, the
 * database may still be working on another.
 */
export async function settleAll<const T extends readonly unknown[]>(
  works: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(works);
  return Promise.all(works);
}
