import { type Html, html } from '@gatehouse/web/html';
import type { Probe, ProbeRequest } from '../api/api.ts';

/** Longer bodies are cut for the page. */
const MAX_BODY = 4000;
/** The headers of a response that callers use. */
const HEADERS = [
  'content-type',
  'location',
  'etag',
  'link',
  'www-authenticate',
  'ratelimit',
  'retry-after',
  'x-request-id',
];

/** A request that was sent for somebody to see, and its response; the value of the Authorization header is left out. */
export function exchangeView(
  origin: string,
  { method, path, headers = {}, body }: ProbeRequest & { headers?: Readonly<Record<string, string>> },
  response: Probe & { ms: number },
): Html {
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${new URL(origin).host}`];
  const sent = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const request = [...lines, ...sent, ...(body === undefined ? [] : ['', body])].join('\n');
  const received = HEADERS.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [`${name}: ${value}`];
  });
  const text = [...received, '', bodyOf(response)].join('\n').trim();
  return html`<div class="exchange" role="status"><div><h3>Request</h3><pre tabindex="0" aria-label="Request"><code>${request}</code></pre></div><div><h3>Response: ${response.status}, after ${Math.round(response.ms)} ms</h3><pre tabindex="0" aria-label="Response"><code>${text}</code></pre></div></div>`;
}

function bodyOf({ headers, text }: Probe): string {
  const type = headers.get('content-type') ?? '';
  if (text !== '' && !/json|^text\//.test(type)) return `(a body of the type ${type})`;
  const shown = pretty(text);
  return shown.length > MAX_BODY ? `${shown.slice(0, MAX_BODY)}\n…` : shown;
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
