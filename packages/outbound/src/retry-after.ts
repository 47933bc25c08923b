/** The pause in milliseconds that a response asks for by Retry-After, in seconds or as a date (RFC 9110 §10.2.3), and at most `maxMs`. */
export function retryAfter(headers: Headers, maxMs: number): number | undefined {
  const header = headers.get('retry-after');
  if (header === null) return undefined;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return ms > 0 ? Math.min(ms, maxMs) : undefined;
}
