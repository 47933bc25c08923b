/**
 * Runs an action with a signal that is aborted after `ms`, with a TimeoutError, or together with `outer`. Keeps no listeners after the
 * action has ended, while AbortSignal.timeout() keeps them until its time is over.
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
