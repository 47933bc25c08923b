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

type JsonResponse = { status: number; headers: Headers; body: unknown };

/**
 * Writes exchanges as texts that are the same in every run: ids (of any prefix) by the order in which they come, times
 * and cursors as placeholders.
 */
export function createWireSnapshot() {
  const names = new Map<string, string>();

  function idName(id: string): string {
    const name = names.get(id) ?? `<id ${names.size + 1}>`;
    names.set(id, name);
    return name;
  }

  function stable(text: string): string {
    return text
      .replace(/\b[a-z]{3}_[0-9a-z]{26}/g, idName)
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>')
      .replace(/cursor=[\w-]+/g, 'cursor=<cursor>');
  }

  return {
    request: (method: string, path: string, body?: unknown) =>
      stable(`${method} ${path}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`),
    response({ status, headers, body }: JsonResponse) {
      const named = HEADERS.filter((name) => headers.has(name));
      const lines = [
        String(status),
        ...named.map((name) => `${name}: ${headers.get(name)}`),
        body === undefined ? '(no body)' : JSON.stringify(body, null, 2),
      ];
      return stable(lines.join('\n'));
    },
  };
}
