import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';

export type JsonResponse = { status: number; text: string; headers: IncomingHttpHeaders; cookies: string[] };

/** Sends requests from any address of this machine's, such as 127.0.0.9. */
export function stranger(base: string) {
  return async (
    localAddress: string,
    method: string,
    path: string,
    body = '',
    headers: Record<string, string> = {},
  ): Promise<JsonResponse> => {
    const request = httpRequest(new URL(path, base), { method, localAddress, headers });
    request.end(body);
    const [response] = await once(request, 'response');
    let text = '';
    for await (const chunk of response) text += chunk;
    return {
      status: Number(response.statusCode),
      text,
      headers: response.headers,
      cookies: response.headers['set-cookie'] ?? [],
    };
  };
}
