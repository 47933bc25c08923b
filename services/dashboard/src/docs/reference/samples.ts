import {
  type Content,
  type OpenApiDocument,
  type Operation,
  resolve,
  type Schema,
} from '../openapi/document.ts';

const JSON_TYPE = 'application/json';
export const FORM_TYPE = 'application/x-www-form-urlencoded';

/** A request without a language: values to fill in are variables, as `$NAME`. */
type SampleRequest = {
  method: string;
  url: string;
  credential: 'bearer' | 'basic' | undefined;
  body: ReturnType<typeof exampleBody> | undefined;
};

/** Samples of a request in some languages, with the first example of the body. Values to fill in are variables of the environment. */
export function samplesOf(
  document: OpenApiDocument,
  method: string,
  path: string,
  operation: Operation,
): { id: string; label: string; grammar: string; code: string }[] {
  const { security = [], requestBody, parameters = [] } = operation;
  const origin = document.servers?.[0]?.url ?? '';
  const required = parameters.filter((it) => it.in === 'query' && it.required === true);
  const query = required.map(({ name, schema }) => `${name}=${String(schema?.default ?? variable(name))}`);
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => variable(name));
  const request: SampleRequest = {
    method: method.toUpperCase(),
    url: `${origin}${address}${query.length > 0 ? `?${query.join('&')}` : ''}`,
    credential: security.some((it) => 'bearer' in it)
      ? 'bearer'
      : usesClientAuthentication(security)
        ? 'basic'
        : undefined,
    body: requestBody && exampleBody(document, requestBody.content, usesClientAuthentication(security)),
  };
  return [
    { id: 'curl', label: 'curl', grammar: 'bash', code: curl(request) },
    { id: 'node', label: 'Node.js', grammar: 'js', code: nodeJs(request) },
    { id: 'python', label: 'Python', grammar: 'python', code: python(request) },
  ];
}

const CREDENTIALS = {
  bearer: {
    curl: '-H "Authorization: Bearer $TOKEN"',
    nodeJs: "Authorization: 'Bearer ' + process.env.TOKEN,",
    python: 'headers={"Authorization": "Bearer " + os.environ["TOKEN"]},',
  },
  basic: {
    curl: '-u "$CLIENT_ID:$CLIENT_SECRET"',
    nodeJs: "Authorization: 'Basic ' + btoa(process.env.CLIENT_ID + ':' + process.env.CLIENT_SECRET),",
    python: 'auth=(os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"]),',
  },
};

function curl({ method, url, credential, body }: SampleRequest): string {
  const options = [
    method !== 'GET' && `-X ${method}`,
    credential && CREDENTIALS[credential].curl,
    ...(body ? curlBody(body) : []),
  ];
  return [`curl "${url}"`, ...options.filter(isGiven)].join(' \\\n  ');
}

/** With `fetch`, as in Node.js 18 and later, in an ES module. */
function nodeJs({ method, url, credential, body }: SampleRequest): string {
  const isJson = body?.type === JSON_TYPE;
  const headers = [
    credential && CREDENTIALS[credential].nodeJs,
    isJson && `'Content-Type': '${JSON_TYPE}',`,
  ].filter(isGiven);
  const literal = body && JSON.stringify(body.body, null, 2).replaceAll(/^( *)"([a-z_]\w*)":/gim, '$1$2:');
  const value = literal && withVariables(literal, (name) => `process.env.${name}`);
  const options = [
    method !== 'GET' && `method: '${method}',`,
    headers.length > 0 && `headers: {\n${indented(headers)}\n},`,
    value && `body: ${isJson ? 'JSON.stringify' : 'new URLSearchParams'}(${value}),`,
  ].filter(isGiven);
  const address = `\`${url.replaceAll(VARIABLE, (_, name) => `\${process.env.${name}}`)}\``;
  const call = options.length === 0 ? address : `${address}, {\n${indented(options)}\n}`;
  return `const response = await fetch(${call});\nconsole.log(response.status, await response.text());`;
}

/** With the library requests. */
function python({ method, url, credential, body }: SampleRequest): string {
  const address = url.replaceAll(VARIABLE, (_, name) => `{os.environ['${name}']}`);
  const value = body && withVariables(pythonLiteral(body.body), (name) => `os.environ["${name}"]`);
  const parameters = [
    `${address === url ? '' : 'f'}"${address}",`,
    credential && CREDENTIALS[credential].python,
    value && `${body.type === JSON_TYPE ? 'json' : 'data'}=${value},`,
  ].filter(isGiven);
  const call = `response = requests.${method.toLowerCase()}(\n${indented(parameters, '    ')}\n)`;
  const imports = call.includes('os.environ') ? 'import os\n\nimport requests' : 'import requests';
  return `${imports}\n\n${call}\nprint(response.status_code, response.text)`;
}

const isGiven = (line: string | false | undefined) => typeof line === 'string';
const VARIABLE = /\$([A-Z][A-Z0-9_]*)/g;
const withVariables = (literal: string, read: (name: string) => string) =>
  literal.replaceAll(/"\$([A-Z][A-Z0-9_]*)"/g, (_, name: string) => read(name));
const indented = (lines: readonly string[], by = '  ') =>
  lines.map((line) => by + line.replaceAll('\n', `\n${by}`)).join('\n');

/** A value of JSON as Python has it: its strings are those of JSON. */
const pythonLiteral = (value: unknown) =>
  JSON.stringify(value, null, 4).replaceAll(
    /"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g,
    (part) => ({ true: 'True', false: 'False', null: 'None' })[part] ?? part,
  );

/** Whether an application authenticates with its client ID and secret. */
export const usesClientAuthentication = (security: readonly Record<string, string[]>[]) =>
  security.some((it) => 'client_secret_basic' in it);

const variable = (name: string) => `$${name.replaceAll(/\W+/g, '_').toUpperCase()}`;

/** A body to send: a form where one is accepted, else JSON. Without an example, it has the required fields. */
export function exampleBody(
  document: OpenApiDocument,
  content: Content,
  usesClientAuthentication: boolean,
): { type: string; body: Record<string, unknown> } {
  const type = content[FORM_TYPE] === undefined ? JSON_TYPE : FORM_TYPE;
  const media = content[type] ?? {};
  const { required = [] } = resolve<Schema>(document, media.schema ?? {});
  const body = exampleOf(media) ?? Object.fromEntries(required.map((name) => [name, variable(name)]));
  if (usesClientAuthentication) {
    // The application authenticates by HTTP Basic, and then not in the body, too (RFC 6749 §2.3).
    for (const name of ['client_id', 'client_secret']) if (!required.includes(name)) delete body[name];
  }
  return { type, body };
}

function curlBody({ type, body }: ReturnType<typeof exampleBody>): string[] {
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
