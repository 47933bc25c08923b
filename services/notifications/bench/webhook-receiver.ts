// The endpoints of bench:webhooks, in a thread of their own: at /hang/…, /fail/…, /slow/… and /good/….

import { createServer } from 'node:http';
import { parentPort } from 'node:worker_threads';

const SLOW_MS = 2000;

const server = createServer((request, response) => {
  const [, kind, endpoint] = request.url?.split('/') ?? [];
  request.resume().on('end', () => {
    parentPort?.postMessage({ kind, endpoint, event: request.headers['webhook-id'], at: Date.now() });
    if (kind === 'hang') return;
    if (kind === 'fail') response.writeHead(500).end();
    else if (kind === 'slow') setTimeout(() => response.writeHead(204).end(), SLOW_MS);
    else response.writeHead(204).end();
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  parentPort?.postMessage({ port: typeof address === 'object' ? address?.port : undefined });
});
