/** Settles as the promise does, or rejects after this time with an error that begins with `what`. The promise goes on. */
export async function within<T>(ms: number, promise: Promise<T>, what = 'It'): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`${what} took longer than ${ms} ms.`)), ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
    // It may fail when nobody waits for it any more.
    promise.catch(() => {});
  }
}
