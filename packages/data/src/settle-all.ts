/**
 * As Promise.all(), but it settles only when all of them have: for work within a limit on what is in flight, where one that
 * fails at once must not hide that the database still works on another.
 */
export async function settleAll<const T extends readonly unknown[]>(
  works: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(works);
  return Promise.all(works);
}
