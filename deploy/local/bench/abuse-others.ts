import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** A request of others; its response's status does not matter. */
export type OthersRequest = { method: string; path: string; body?: unknown };

type Task = OthersRequest & { base: string; token: string };

const PAUSE_MS = 5;

/**
 * Sends a request again and again, in a thread of its own: an abuse that keeps the bench's thread busy would lengthen the times.
 * p99() resolves to that of the requests since the last call, in milliseconds.
 */
export function startOthers(base: string, token: string, request: OthersRequest) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { ...request, base, token } });
  return {
    async p99(): Promise<number> {
      worker.postMessage('p99');
      const [ms] = (await once(worker, 'message')) as [number];
      return ms;
    },
    stop: () => worker.terminate(),
  };
}

async function send({ base, token, method, path, body }: Task): Promise<void> {
  const response = await fetch(base + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  await response.arrayBuffer();
}

if (!isMainThread) {
  let times: number[] = [];
  /** When the request that waits for its response was sent: one that waits for long counts, too. */
  let sent = performance.now();
  parentPort?.on('message', () => {
    const sorted = [...times, performance.now() - sent].sort((a, b) => a - b);
    parentPort?.postMessage(sorted[Math.floor((sorted.length - 1) * 0.99)]);
    times = [];
  });
  for (;;) {
    sent = performance.now();
    await send(workerData as Task);
    times.push(performance.now() - sent);
    await sleep(PAUSE_MS);
    sent = performance.now();
  }
}
