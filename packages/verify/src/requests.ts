/** The global fetch, or another of the same form. */
export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/** A response that is not 200. */
export class StatusError extends Error {
  readonly status: number;
  readonly retryAfterSeconds: number;

  constructor(response: Response) {
    super(`the response has the status ${response.status}`);
    this.status = response.status;
    this.retryAfterSeconds = Number(response.headers.get('retry-after')) || 0;
  }
}

/** The members of a JSON object at a URL, within three seconds. */
export async function fetchJson(
  fetch: Fetch,
  url: string,
  init: RequestInit = {},
): Promise<Record<string, unknown>> {
  const signals = [AbortSignal.timeout(3000), ...(init.signal ? [init.signal] : [])];
  const response = await fetch(url, { redirect: 'error', ...init, signal: AbortSignal.any(signals) });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new StatusError(response);
  }
  return Object(await response.json());
}

/** The Authorization header of a client (RFC 6749 §2.3.1). */
export function basicAuthorization(clientId: string, clientSecret: string): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`;
}
