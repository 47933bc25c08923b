import { createPieces } from '@gatehouse/api/http/lines';
import { ServiceError } from '@gatehouse/core/errors';

const [QUOTE, BACKSLASH, COMMA, SPACE] = [0x22, 0x5c, 0x2c, 0x20];
const [BRACE, END_BRACE, BRACKET, END_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * The objects in the list with this name, as JSON, of a document that is an object or a list of objects; undefined for one of more
 * than `limit` bytes. No more than one is kept in memory. It looks at the document's structure only: what it returns is still to be
 * parsed. Throws `invalid` when there is no such list, or the document ends too early.
 */
export async function* jsonElements(
  document: AsyncIterable<Buffer>,
  { name, limit }: { name: string; limit: number },
): AsyncGenerator<Buffer | undefined> {
  const element = createPieces(limit);
  const key = new RegExp(`[{,]"${name}":\\[$`);
  /** The last bytes that were read outside of the list, without spaces between texts. */
  let recent = '';
  let depth = 0;
  /** The depth of the objects that may have the list. */
  let rootDepth = 0;
  /** That of the list, while it is being read. */
  let listDepth = Number.POSITIVE_INFINITY;
  let isFound = false;
  let inString = false;
  let isEscaped = false;

  for await (const chunk of document) {
    /** Where what is kept of the chunk begins. */
    let begin = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      if (byte <= SPACE && !inString) continue;
      if (depth < listDepth) recent = (recent + String.fromCharCode(byte)).slice(-name.length - 5);
      if (inString) {
        inString = isEscaped || byte !== QUOTE;
        isEscaped = !isEscaped && byte === BACKSLASH;
      } else if (depth === listDepth && byte !== BRACE && byte !== COMMA && byte !== END_BRACKET) {
        throw new ServiceError('invalid', `The list ${name} has an element that is no JSON object.`);
      } else if (byte === QUOTE) inString = true;
      else if (byte === BRACE || byte === BRACKET) {
        if (depth === listDepth) begin = at;
        if (depth === rootDepth && key.test(recent)) [isFound, listDepth] = [true, depth + 1];
        depth += 1;
        if (byte === BRACE) rootDepth ||= depth;
      } else if (byte === END_BRACE || byte === END_BRACKET) {
        depth -= 1;
        if (depth < listDepth) listDepth = Number.POSITIVE_INFINITY;
        if (depth !== listDepth) continue;
        element.add(chunk.subarray(begin, at + 1));
        yield element.take();
      }
    }
    if (depth > listDepth) element.add(chunk.subarray(begin));
  }
  if (inString || depth !== 0)
    throw new ServiceError('invalid', 'The file ends before the JSON document does.');
  if (!isFound) throw new ServiceError('invalid', `The file is no JSON document with a list ${name}.`);
}
