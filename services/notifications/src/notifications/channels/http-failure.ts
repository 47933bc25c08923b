import { ProviderError } from './provider.ts';

const MAX_RETRY_AFTER_MS = 3_600_000;

/** The error for an unsuccessful response of an HTTP provider; undefined for a successful one. */
export function failureOf(
  provider: string,
  status: number,
  retryAfter: string | null | undefined,
): ProviderError | undefined {
  if (status >= 200 && status < 300) return undefined;
  const said = (what: string) => `${provider} ${what} (${status}).`;
  if (status === 429) {
    const retryAfterMs = readRetryAfter(retryAfter);
    return new ProviderError('throttled', said('wants fewer messages'), { retryAfterMs });
  }
  // RFC 9110 §15.5.9: it was not received in time.
  if (status === 408) return new ProviderError('temporary', said('did not receive it in time'));
  if (status === 401) return new ProviderError('unreachable', said('refuses our credentials'));
  if (status >= 400 && status < 500) return new ProviderError('rejected', said('has refused it'));
  // RFC 9110 §15.4.4: a 303 may mean that the request succeeded. Any other redirect is not a response of the provider.
  const mayBeAccepted = status === 303 || (status >= 500 && status !== 501 && status !== 503);
  return new ProviderError('failing', said('failed'), { mayBeAccepted });
}

/** Retry-After (RFC 9110 §10.2.3), seconds or a date, in milliseconds; an hour at most. */
export function readRetryAfter(value: string | null | undefined, now = Date.now()): number | undefined {
  const text = value?.trim() ?? '';
  const isDate = /^[A-Z][a-z]{2}, /.test(text);
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  const ms = isDate ? Date.parse(text) - now : seconds * 1000;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

/** Errors of connections that were never made. */
const UNCONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** The error for a request without a response. */
export function failureWithoutResponse(provider: string, error: unknown): ProviderError {
  const { code, cause } = Object(error) as { code?: string; cause?: { code?: string } };
  const found = cause?.code ?? code ?? '';
  const isUnconnected = UNCONNECTED.has(found) || /CERT|TLS|SSL/.test(found);
  return isUnconnected
    ? new ProviderError('unreachable', `${provider} cannot be reached.`, { cause: error })
    : new ProviderError('failing', `${provider} did not answer.`, { cause: error, mayBeAccepted: true });
}
