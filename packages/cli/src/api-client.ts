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

export type ApiClient = {
  /** The deployment, without a slash at the end. */
  url: string;
  /** Rejects with an {@link ApiError} unless the response is a success (2xx). */
  request(method: string, path: string, options?: ApiRequest): Promise<ApiResponse>;
  /** The same with the body unread, as an event stream has it. */
  open(method: string, path: string, options?: ApiRequest): Promise<Response>;
};

/** A response that is no success. The message is the API's sentence, and the code its word for programs, if it has one. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string | undefined;
  readonly headers: Headers;
  readonly body: unknown;

  constructor(message: string, response: { status: number; code?: string; headers: Headers; body: unknown }) {
    super(message);
    this.status = response.status;
    this.code = response.code;
    this.headers = response.headers;
    this.body = response.body;
  }
}

/** The deployment does not respond. */
export class UnreachableError extends Error {}

export type Send = (
  url: URL,
  init: { method: string; headers: Headers; body?: string; signal?: AbortSignal },
) => Promise<Response>;

/** Makes a client of the API, with a bearer token, or with a `send` that authenticates requests in another way. */
export function createApiClient(
  options: { url: string; userAgent: string } & ({ token(): Promise<string> } | { send: Send }),
): ApiClient {
  const { userAgent } = options;
  const base = options.url.replace(/\/+$/, '');
  const send: Send =
    'send' in options
      ? options.send
      : async (url, { headers, ...init }) => {
          headers.set('authorization', `Bearer ${await options.token()}`);
          return fetch(url, { ...init, headers, redirect: 'manual' });
        };

  async function open(method: string, path: string, request: ApiRequest = {}): Promise<Response> {
    const { query = {}, body, ifMatch, signal } = request;
    // A link in a response could name another host, to which the token would be sent.
    if (!path.startsWith('/'))
      throw new UnreachableError(`${base} links to ${path}, which is no path of it.`);
    const url = new URL(base + path);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const headers = new Headers({ accept: 'application/json', 'user-agent': userAgent, ...request.headers });
    if (ifMatch !== undefined) headers.set('if-match', ifMatch);
    if (body !== undefined) headers.set('content-type', 'application/json');
    const init = {
      ...{ method, headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    };
    const response = await send(url, init).catch((error: unknown) => {
      if (!(error instanceof TypeError)) throw error;
      throw new UnreachableError(
        `${url.origin} cannot be reached: is the address right, and is it running?`,
        { cause: error },
      );
    });
    if (response.ok) return response;
    throw await errorOf(response, `${method} ${path}`);
  }

  return {
    url: base,
    open,
    async request(method, path, request) {
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
  const { error, error_description: description } = Object(body) as {
    error?: unknown;
    error_description?: unknown;
  };
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  const sentence = [message, description, error].find((it) => typeof it === 'string') as string | undefined;
  const word = [code, description === undefined ? undefined : error].find((it) => typeof it === 'string') as
    | string
    | undefined;
  return new ApiError(sentence ?? `${request} got the status ${status}.`, {
    ...{ status, headers, body },
    ...(word === undefined ? {} : { code: word }),
  });
}
