import { VerifyError } from './errors.ts';
import type { MetadataOptions } from './metadata.ts';
import type { Verifier } from './verifier.ts';

export type PlainResponse = { status: number; headers: Record<string, string>; body: string };

/** The response to a request that is refused. Throws an error that is none of the verifier's. */
export function errorResponse(error: unknown): PlainResponse {
  if (!(error instanceof VerifyError)) throw error;
  return jsonResponse(error.status, { ...error.headers, 'cache-control': 'no-store' }, error.body);
}

/** The response with the metadata of the API (RFC 9728 §3), if that is what is requested. */
export function metadataResponse(
  { metadata }: Verifier,
  options: MetadataOptions | undefined,
  { method = '', path = '' }: { method?: string | undefined; path?: string | undefined },
): PlainResponse | undefined {
  if (path.replace(/\?.*/, '') !== metadata.path || !['GET', 'HEAD'].includes(method)) return undefined;
  return jsonResponse(200, { ...metadata.headers }, metadata.document(options));
}

/** As the Response of the Fetch standard. */
export function toResponse({ status, headers, body }: PlainResponse): Response {
  return new Response(body, { status, headers });
}

function jsonResponse(status: number, headers: Record<string, string>, body: unknown): PlainResponse {
  return { status, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
}
