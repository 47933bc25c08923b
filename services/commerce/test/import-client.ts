import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';

export type ImportedLine = {
  line: number;
  status: 'created' | 'updated' | 'refused' | 'stopped';
  id?: string;
  error?: { code: string; message: string; details?: { field: string; message: string }[] };
};

const WRONG = {
  name: 1,
  price: 'x',
  currency: 2,
  description: 3,
  category: 4,
  stock: 'x',
  sku: 5,
  status: 6,
};
/** A line of 20 kB with all that can be wrong, so that the response is long. */
export const REFUSED_LINE = `${JSON.stringify({ ...WRONG, more: 'x'.repeat(20_000) })}\n`;

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

/** Resolves when more can be written, or nothing ever will be. */
export function drained(outgoing: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      outgoing.off('drain', settle).off('close', settle);
      resolve();
    };
    outgoing.on('drain', settle).on('close', settle);
  });
}
