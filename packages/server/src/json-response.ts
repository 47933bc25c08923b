import type { ServerResponse } from 'node:http';

/** The shape of errors that belong to no service: that of the latest version's profile. */
export function problem(code: string, message: string) {
  return { error: { code, message } };
}

/** Answers with JSON, which nobody is to keep. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  });
  response.end(text);
}
