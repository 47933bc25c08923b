import { inspect } from 'node:util';

/** The headers of a response that mean something to its caller. */
const HEADERS = [
  'content-type',
  'location',
  'etag',
  'link',
  'deprecation',
  'sunset',
  'cache-control',
  'allow',
  'www-authenticate',
];

const WHOLE = { depth: null, maxArrayLength: null, maxStringLength: null };

type JsonResponse = { status: number; headers: Headers; body: unknown };
type Call = (
  method: string,
  path: string,
  token: string | undefined,
  body?: unknown,
) => Promise<JsonResponse>;

/**
 * Sends requests of callers with these tokens, and compares each exchange with its snapshot. The result of a row is the id in
 * the response, if there is one.
 */
export function createWireRow<Who extends string>(
  call: Call,
  tokens: Readonly<Record<Who, string | undefined>>,
) {
  const snapshot = createWireSnapshot();
  return async function row(
    t: { matchSnapshot(found: string, name: string): unknown },
    who: Who,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<string> {
    const response = await call(method, path, tokens[who], body);
    t.matchSnapshot(snapshot.response(response), `${who}: ${snapshot.request(method, path, body)}`);
    return String(Object(response.body).id ?? '');
  };
}

/**
 * Writes exchanges as texts that are the same in every run: ids (of any prefix) by the order in which they come, times
 * and cursors as placeholders.
 */
function createWireSnapshot() {
  const names = new Map<string, string>();

  function idName(id: string): string {
    const name = names.get(id) ?? `<id ${names.size + 1}>`;
    names.set(id, name);
    return name;
  }

  function stable(text: string): string {
    return (
      text
        .replace(/\b[a-z]{3}_[0-9a-z]{26}/g, idName)
        .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>')
        .replace(/cursor=[\w-]+/g, 'cursor=<cursor>')
        // The same in every challenge, with the port of the test.
        .replace(/, resource_metadata="[^"]+"/g, '')
    );
  }

  return {
    request: (method: string, path: string, body?: unknown) =>
      stable(`${method} ${path}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`),
    response({ status, headers, body }: JsonResponse) {
      const named = HEADERS.filter((name) => headers.has(name));
      const head = [String(status), ...named.map((name) => `${name}: ${headers.get(name)}`)].join(' · ');
      // A row of a list is one line.
      const shown = inspect(body, { ...WHOLE, compact: 100, breakLength: 500 });
      return stable(`${head}\n${body === undefined ? '(no body)' : shown}`);
    },
  };
}
