/**
 * Runs an action with a signal that is aborted after `ms`, with a TimeoutError, or together with `outer`. When the action has
 * ended, nothing of it is kept; AbortSignal.timeout() keeps whatever has listened until its time is over.
 */
export async function withDeadline<T>(
  ms: number,
  action: (signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<T> {
  const controller = new AbortController();
  const follow = () => controller.abort(outer?.reason);
  const timer = setTimeout(
    () => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
    ms,
  );
  if (outer?.aborted) follow();
  outer?.addEventListener('abort', follow);
  try {
    return await action(controller.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', follow);
  }
}
