/**
 * Whether a caller with this Accept header prefers HTML to JSON (RFC 9110 §12.5.1): browsers do. A caller without a
 * preference, such as curl, which accepts anything, is taken for a program.
 */
export function prefersHtml(accept = '*/*'): boolean {
  const weights = readWeights(accept);
  return weightOf('text/html', weights) > weightOf('application/json', weights);
}

/** Whether a caller with this Accept header asks for Server-Sent Events, which `EventSource` does. */
export function prefersEventStream(accept = '*/*'): boolean {
  const weights = readWeights(accept);
  return weightOf('text/event-stream', weights) > weightOf('application/json', weights);
}

/** The weight of each media range; parameters other than `q` are not looked at, and malformed ranges are left out. */
function readWeights(accept: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of accept.toLowerCase().split(',')) {
    const [range = '', ...parameters] = part.split(';').map((text) => text.trim());
    const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
    // RFC 9110 §12.4.2: from 0 to 1, with at most three decimals.
    if (/^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(q)) weights.set(range, Number(q));
  }
  return weights;
}

/** The most specific range that the media type is in decides. */
function weightOf(mediaType: string, weights: Map<string, number>): number {
  const anySubtype = mediaType.replace(/\/.*/, '/*');
  return weights.get(mediaType) ?? weights.get(anySubtype) ?? weights.get('*/*') ?? 0;
}
