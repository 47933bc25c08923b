export type ServerSentEvent = { id?: string; data?: string; isComment: boolean };

const MAX_BLOCK_LENGTH = 65_536;

/** The blocks of a stream of Server-Sent Events. `onBytes` is called whenever something comes. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<ServerSentEvent> {
  let rest = '';
  for await (const chunk of body.pipeThrough(
    new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>,
  )) {
    onBytes();
    rest += chunk;
    // A carriage return at the end may be the first half of a line break.
    const blocks = rest.split(/\r\n\r\n|\n\n|\r\r(?!$)/);
    rest = blocks.pop() ?? '';
    if (rest.length > MAX_BLOCK_LENGTH) throw new Error('a block of the feed is too long');
    for (const block of blocks) yield readBlock(block);
  }
}

function readBlock(block: string): ServerSentEvent {
  const event: ServerSentEvent = { isComment: false };
  const data: string[] = [];
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, field, value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (line.startsWith(':')) event.isComment = true;
    else if (field === 'id') event.id = value;
    else if (field === 'data') data.push(value);
  }
  if (data.length > 0) event.data = data.join('\n');
  return event;
}
