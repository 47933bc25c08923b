export type ServerSentEvent = { id: string; event: string; data: string };

const MAX_BLOCK_LENGTH = 1_048_576;

/** The events of a stream (https://html.spec.whatwg.org/multipage/server-sent-events.html); comments, which keep it alive, are left out. */
export async function* readServerSentEvents(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    rest += decoder.decode(chunk, { stream: true });
    const blocks = rest.split(/\r\n\r\n|\n\n/);
    rest = blocks.pop() ?? '';
    if (rest.length > MAX_BLOCK_LENGTH) throw new Error('An event of the stream is too long.');
    for (const block of blocks) {
      const fields = new Map<string, string>();
      for (const line of block.split(/\r\n|\n/)) {
        const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
        fields.set(field, field === 'data' && fields.has('data') ? `${fields.get('data')}\n${value}` : value);
      }
      const data = fields.get('data');
      if (data !== undefined)
        yield { id: fields.get('id') ?? '', event: fields.get('event') ?? 'message', data };
    }
  }
}
