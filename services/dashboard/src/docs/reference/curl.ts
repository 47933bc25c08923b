import {
  type Content,
  type OpenApiDocument,
  type Operation,
  resolve,
  type Schema,
} from '../openapi/document.ts';

const JSON_TYPE = 'application/json';
export const FORM_TYPE = 'application/x-www-form-urlencoded';

/** A request with curl, with the first example of the body. Values to fill in are shell variables. */
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
    ...(requestBody === undefined ? [] : bodyOf(document, requestBody, isClient(security))),
  ];
  return [`curl ${url}`, ...options].join(' \\\n  ');
}

/** Whether an application authenticates with its client ID and secret. */
export const isClient = (security: readonly Record<string, string[]>[]) =>
  security.some((it) => 'client_secret_basic' in it);

const variable = (name: string) => `$${name.replaceAll(/\W+/g, '_').toUpperCase()}`;

function credentialOf(security: readonly Record<string, string[]>[]): string[] {
  if (security.some((it) => 'bearer' in it)) return ['-H "Authorization: Bearer $TOKEN"'];
  return isClient(security) ? ['-u "$CLIENT_ID:$CLIENT_SECRET"'] : [];
}

/** A body to send: a form where one is accepted, else JSON. Without an example, it has the required fields. */
export function exampleBody(
  document: OpenApiDocument,
  content: Content,
  isClient: boolean,
): { type: string; body: Record<string, unknown> } {
  const type = content[FORM_TYPE] === undefined ? JSON_TYPE : FORM_TYPE;
  const media = content[type] ?? {};
  const { required = [] } = resolve<Schema>(document, media.schema ?? {});
  const body = exampleOf(media) ?? Object.fromEntries(required.map((name) => [name, variable(name)]));
  if (isClient) {
    // The application authenticates by HTTP Basic, and then not in the body, too (RFC 6749 §2.3).
    for (const name of ['client_id', 'client_secret']) if (!required.includes(name)) delete body[name];
  }
  return { type, body };
}

function bodyOf(document: OpenApiDocument, { content }: { content: Content }, isClient: boolean): string[] {
  const { type, body } = exampleBody(document, content, isClient);
  if (type === JSON_TYPE) {
    return [`-H "Content-Type: ${JSON_TYPE}"`, `-d ${quoted(JSON.stringify(body, null, 2))}`];
  }
  return Object.entries(body).map(([name, value]) => {
    const text = String(value);
    return `--data-urlencode ${text.startsWith('$') ? `"${name}=${text}"` : quoted(`${name}=${text}`)}`;
  });
}

/** A copy of the first example of a body. */
function exampleOf({ example, examples = {} }: Content[string]): Record<string, unknown> | undefined {
  return structuredClone(example ?? Object.values(examples)[0]?.value) as Record<string, unknown> | undefined;
}

/** As one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
