export type JsonResponse<T> = { status: number; headers: Headers; body: T };

type Sent = { body?: unknown; token?: string | undefined; headers?: Record<string, string> };

/**
 * A request with a JSON body and a bearer token, if they are given. The body of the response is parsed, and is an empty object
 * where there is none.
 */
export async function jsonRequest<T = Record<string, unknown>>(
  method: string,
  url: string,
  { body, token, headers = {} }: Sent = {},
): Promise<JsonResponse<T>> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: (text === '' ? {} : JSON.parse(text)) as T,
  };
}

/** The token of a login at the API. */
export async function loginToken(
  base: string,
  { username, password }: { username: string; password: string },
): Promise<string> {
  const url = `${base}/api/v1/auth/login`;
  const { status, body } = await jsonRequest('POST', url, { body: { username, password } });
  if (status !== 200) throw new Error(`the login answered ${status} ${JSON.stringify(body)}`);
  return String(body.token);
}
