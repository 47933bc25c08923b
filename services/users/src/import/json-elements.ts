import { ServiceError } from '@gatehouse/core/errors';

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const [BRACE, END_BRACE, BRACKET, END_BRACKET, SPACE] = [0x7b, 0x7d, 0x5b, 0x5d, 0x20];

/**
 * The objects in the list with this name, as JSON, of a document that is an object or a list of objects; undefined for one of more
 * than `limit` bytes. No more than one is kept in memory. It looks at the document's structure only: what it returns is still to be
 * parsed. Throws `invalid` when there is no such list, or the document ends too early.
 */
export async function* jsonElements(
  document: AsyncIterable<Buffer>,
  { name, limit }: { name: string; limit: number },
): AsyncGenerator<Buffer | undefined> {
  let depth = 0;
  /** The depth of the objects that may have the list. */
  let rootDepth: number | undefined;
  /** That of the elements of the list, while it is being read. */
  let elementDepth = 0;
  let isFound = false;
  let inString = false;
  let isEscaped = false;
  /** The last string, of which no more than could be the name is kept, and whether it is a key. */
  let text: number[] = [];
  let isNamed = false;
  let parts: Buffer[] = [];
  let size = 0;

  for await (const chunk of document) {
    /** Where what is kept of the chunk begins. */
    let begin = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      if (inString) {
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) inString = false;
        if (inString && text.length <= name.length) text.push(byte);
        continue;
      }
      if (byte <= SPACE) continue;
      const inList = elementDepth > 0 && depth === elementDepth;
      if (inList && byte !== BRACE && byte !== COMMA && byte !== END_BRACKET) {
        throw new ServiceError('invalid', `The list ${name} has an element that is no JSON object.`);
      }
      if (byte === QUOTE) {
        inString = true;
        text = [];
      } else if (byte === COLON) {
        isNamed = elementDepth === 0 && depth === rootDepth && Buffer.from(text).toString() === name;
        continue;
      } else if (byte === BRACE || byte === BRACKET) {
        if (inList) begin = at;
        depth += 1;
        if (byte === BRACE && elementDepth === 0) rootDepth ??= depth;
        if (byte === BRACKET && isNamed) {
          elementDepth = depth;
          isFound = true;
        }
      } else if (byte === END_BRACE || byte === END_BRACKET) {
        if (inList) elementDepth = 0;
        depth -= 1;
        if (elementDepth > 0 && depth === elementDepth) {
          size += at + 1 - begin;
          yield size > limit ? undefined : Buffer.concat([...parts, chunk.subarray(begin, at + 1)]);
          [parts, size] = [[], 0];
        }
      }
      isNamed = false;
    }
    if (elementDepth > 0 && depth > elementDepth) {
      size += chunk.length - begin;
      if (size > limit) parts = [];
      else parts.push(chunk.subarray(begin));
    }
  }
  if (inString || depth !== 0)
    throw new ServiceError('invalid', 'The file ends before the JSON document does.');
  if (!isFound) throw new ServiceError('invalid', `The file is no JSON document with a list ${name}.`);
}
