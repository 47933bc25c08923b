import type { Content, OpenApiDocument, Operation } from '../openapi/document.ts';

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

/** A request with curl, with the first example of the body. What is to be filled in are shell variables. */
export function curlOf(
  document: OpenApiDocument,
  method: string,
  path: string,
  operation: Operation,
): string {
  const { security = [], requestBody, parameters = [] } = operation;
  const origin = document.servers?.[0]?.url ?? '';
  const required = parameters.filter((it) => it.in === 'query' && it.required === true);
  const query = required.map(({ name, schema }) => `${name}=${String(schema?.default ?? variable(name))}`);
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => variable(name));
  const url = `"${origin}${address}${query.length > 0 ? `?${query.join('&')}` : ''}"`;
  const options = [
    ...(method === 'get' ? [] : [`-X ${method.toUpperCase()}`]),
    ...credentialOf(security),
    ...(requestBody === undefined ? [] : bodyOf(requestBody.content)),
  ];
  return [`curl ${url}`, ...options].join(' \\\n  ');
}

const variable = (name: string) => `$${name.replaceAll(/\W+/g, '_').toUpperCase()}`;

function credentialOf(security: readonly Record<string, string[]>[]): string[] {
  if (security.some((it) => 'bearer' in it)) return ['-H "Authorization: Bearer $TOKEN"'];
  return security.some((it) => 'client_secret_basic' in it) ? ['-u "$CLIENT_ID:$CLIENT_SECRET"'] : [];
}

function bodyOf(content: Content): string[] {
  const example = exampleOf(content[JSON_TYPE] ?? content[FORM_TYPE]);
  if (content[JSON_TYPE] !== undefined) {
    return [`-H "Content-Type: ${JSON_TYPE}"`, `-d ${quoted(JSON.stringify(example ?? {}, null, 2))}`];
  }
  // With HTTP Basic the credentials of the application are not in the body, too.
  return Object.entries(Object(example))
    .filter(([name]) => name !== 'client_id' && name !== 'client_secret')
    .map(([name, value]) => `--data-urlencode ${quoted(`${name}=${String(value)}`)}`);
}

/** The first example of a body. */
function exampleOf(media: Content[string] | undefined): unknown {
  return media?.example ?? Object.values(media?.examples ?? {})[0]?.value;
}

/** As one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
