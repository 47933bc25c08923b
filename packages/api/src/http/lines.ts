import { MAX_CHUNKS } from './request-body.ts';

const LINE_FEED = 0x0a;
const SPACE = 0x20;

/** The lines without their ends; undefined for one of more than `limit` bytes, of which no more is kept. */
export async function* splitLines(
  body: AsyncIterable<Buffer>,
  limit: number,
): AsyncGenerator<Buffer | undefined> {
  let parts: Buffer[] = [];
  let size = 0;
  const take = () => {
    const line = size > limit ? undefined : Buffer.concat(parts);
    [parts, size] = [[], 0];
    return line;
  };
  for await (const chunk of body) {
    for (let begin = 0; begin < chunk.length; ) {
      const end = chunk.indexOf(LINE_FEED, begin);
      const part = chunk.subarray(begin, end === -1 ? undefined : end);
      size += part.length;
      if (size > limit) parts = [];
      else if (parts.push(part) === MAX_CHUNKS) parts = [Buffer.concat(parts)];
      if (end === -1) break;
      yield take();
      begin = end + 1;
    }
  }
  if (size > 0) yield take();
}

/** Whether a line has no character but spaces and control characters. */
export function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte <= SPACE);
}
