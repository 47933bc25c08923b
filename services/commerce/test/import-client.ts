import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';

export type ImportedLine = {
  line: number;
  status: 'created' | 'updated' | 'refused' | 'stopped';
  id?: string;
  error?: { code: string; message: string; details?: { field: string; message: string }[] };
};

/** An import whose body is written, and whose answers are read, line by line. */
export function beginImport(
  base: string,
  token: string,
  { path = '/v2/products', headers = {} }: { path?: string; headers?: Record<string, string> } = {},
): { outgoing: ClientRequest; response: Promise<IncomingMessage>; responses: AsyncIterator<ImportedLine> } {
  const outgoing = request(base + path, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson', ...headers },
  });
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.on('response', resolve).on('error', reject);
  });
  response.catch(() => {});
  async function* read(): AsyncGenerator<ImportedLine> {
    for await (const text of createInterface({ input: await response })) yield JSON.parse(text);
  }
  return { outgoing, response, responses: read() };
}

/** Sends all lines at once; returns the status and the responses. */
export async function importAll(
  base: string,
  token: string,
  lines: readonly unknown[],
  options: Parameters<typeof beginImport>[2] = {},
): Promise<{ status: number | undefined; responses: ImportedLine[] }> {
  const { outgoing, response, responses } = beginImport(base, token, options);
  outgoing.end(lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));
  const { statusCode: status } = await response;
  const all: ImportedLine[] = [];
  for (;;) {
    const { value, done } = await responses.next();
    if (done === true) return { status, responses: all };
    all.push(value);
  }
}
