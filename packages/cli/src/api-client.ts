/** A query parameter that is undefined is left out. */
export type ApiRequest = {
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  body?: unknown;
  /** An ETag: the request changes nothing when the resource has changed since (RFC 9110 §13.1.1). */
  ifMatch?: string;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
};

/** The parsed JSON of a response, or undefined when it has none. */
// biome-ignore lint/suspicious/noExplicitAny: each caller knows the representation of its own operation.
export type ApiResponse = { status: number; headers: Headers; body: any };

export type ApiClient = ReturnType<typeof createApiClient>;

/** A response without success (2xx). The message is the sentence of the API. */
export class ApiError extends Error {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;

  constructor(message: string, { status, headers, body }: ApiResponse) {
    super(message);
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}

/** The deployment does not respond. */
export class UnreachableError extends Error {}

export const unreachable = (url: string, cause: unknown) =>
  new UnreachableError(`${url} cannot be reached: is the address right, and is it running?`, { cause });

export type Send = (
  url: URL,
  init: { method: string; headers: Headers; body?: string; signal?: AbortSignal },
) => Promise<Response>;

/** Makes a client of the API. Requests are authenticated by a bearer token or by `send`, and anonymous without either. */
export function createApiClient(options: {
  url: string;
  userAgent: string;
  token?: () => Promise<string>;
  send?: Send;
}) {
  const { url, userAgent, token } = options;
  const send: Send =
    options.send ??
    (async (to, { headers, ...init }) => {
      if (token !== undefined) headers.set('authorization', `Bearer ${await token()}`);
      // A redirect would take credentials along.
      return fetch(to, { ...init, headers, redirect: 'manual' });
    });

  /** The response with its body unread, as an event stream has it. Rejects with an {@link ApiError} unless it is a success (2xx). */
  async function open(method: string, path: string, request: ApiRequest = {}): Promise<Response> {
    const { query = {}, body, ifMatch, signal } = request;
    // A link in a response could name another host, to which the token would be sent.
    if (!path.startsWith('/')) throw new UnreachableError(`${url} links to ${path}, which is not a path.`);
    const to = new URL(url + path);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) to.searchParams.set(name, String(value));
    }
    const headers = new Headers({ accept: 'application/json', 'user-agent': userAgent, ...request.headers });
    if (ifMatch !== undefined) headers.set('if-match', ifMatch);
    if (body !== undefined) headers.set('content-type', 'application/json');
    const init = {
      ...{ method, headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    };
    const response = await send(to, init).catch((error: Error) => {
      if (!(error instanceof TypeError || error.name === 'TimeoutError')) throw error;
      throw unreachable(to.origin, error);
    });
    if (response.ok) return response;
    throw await errorOf(response, `${method} ${path}`);
  }

  return {
    url,
    open,
    async request(method: string, path: string, request?: ApiRequest): Promise<ApiResponse> {
      const response = await open(method, path, request);
      return { status: response.status, headers: response.headers, body: await bodyOf(response) };
    },
  };
}

async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return text;
  }
}

/** The API has four shapes of errors (docs/guides/errors.md). */
async function errorOf(response: Response, request: string): Promise<ApiError> {
  const { status, headers } = response;
  const body = await bodyOf(response);
  const { error, error_description: description } = Object(body);
  const sentence = [Object(error).message, description, error].find((it) => typeof it === 'string');
  return new ApiError(sentence ?? `${request} got the status ${status}.`, { status, headers, body });
}
