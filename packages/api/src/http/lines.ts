import { MAX_CHUNKS } from './request-body.ts';

const LINE_FEED = 0x0a;
const SPACE = 0x20;

/**
 * Joins the added pieces. `take` returns them joined, or undefined when they were more than `limit` bytes, beyond which nothing is kept.
 */
export function createPieces(limit: number) {
  let parts: Buffer[] = [];
  let size = 0;
  return {
    add(part: Buffer): void {
      size += part.length;
      if (size > limit) parts = [];
      else if (parts.push(part) === MAX_CHUNKS) parts = [Buffer.concat(parts)];
    },
    take(): Buffer | undefined {
      const whole = size > limit ? undefined : Buffer.concat(parts);
      [parts, size] = [[], 0];
      return whole;
    },
  };
}

/** The lines without their ends; undefined for a line of more than `limit` bytes, of which no more is kept. */
export async function* splitLines(
  body: AsyncIterable<Buffer>,
  limit: number,
): AsyncGenerator<Buffer | undefined> {
  const line = createPieces(limit);
  for await (const chunk of body) {
    for (let begin = 0; begin < chunk.length; ) {
      const end = chunk.indexOf(LINE_FEED, begin);
      line.add(chunk.subarray(begin, end === -1 ? undefined : end));
      if (end === -1) break;
      yield line.take();
      begin = end + 1;
    }
  }
  const last = line.take();
  if (last?.length !== 0) yield last;
}

/** Whether a line has no character but spaces and control characters. */
export function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte <= SPACE);
}
