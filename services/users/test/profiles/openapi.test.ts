import { documentProblems } from '@gatehouse/testing/openapi-check';
import t from 'tap';
import { build } from '../build.ts';

/**
 * What the service says of itself: a snapshot of each operation, as whoever makes a client of the document gets it.
 * Every response of the suite is compared with the document; here is what no response shows.
 */

t.snapshotFile = new URL('openapi.snapshot.cjs', import.meta.url);

type Media = Record<string, { schema: object; examples?: Record<string, { value: unknown }> }>;
type Response = { $ref?: string; headers?: Record<string, { required: boolean }>; content?: Media };
type Operation = {
  operationId: string;
  description?: string;
  security: Record<string, string[]>[];
  parameters?: { name: string; in: string; required: boolean }[];
  requestBody?: { content: Media };
  responses: Record<string, Response>;
};

const { base, issuer, call } = await build(t);
const response = await fetch(`${base}/openapi/users.json`);
const document = (await response.json()) as {
  openapi: string;
  info: { title: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
};

const last = (ref: string) => ref.split('/').at(-1);
/** The alternatives of a body: names of schemas, in the order of the document. */
const shapesOf = (content: Media = {}) =>
  Object.entries(content).map(([type, { schema }]) => {
    const names = [...JSON.stringify(schema).matchAll(/schemas\/(\w+)/g)].map(([, name]) => name);
    return `${type} ${names.join(' | ')}`.trim();
  });
const headersOf = ({ headers = {} }: Response) =>
  Object.entries(headers).map(([name, { required }]) => (required ? name : `${name}?`));

t.test('it is valid OpenAPI 3.1, public, and its examples are valid', async (t) => {
  t.equal(response.status, 200);
  t.equal(document.openapi, '3.1.1');
  t.same(document.servers, [{ url: issuer.issuer }]);
  t.same(await documentProblems(document), []);
});

t.test('each operation', async (t) => {
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const { operationId, security, parameters = [], requestBody, responses } = operation;
      const all = Object.entries(responses);
      const described = all.filter(([, it]) => it.$ref === undefined);
      const references = all.filter(([, it]) => it.$ref !== undefined);
      const lines = [
        operationId,
        `scopes: ${[...new Set(security.flatMap((it) => Object.values(it).flat()))].join(' ')}`,
        ...parameters.map((it) => `${it.in}: ${it.name}${it.required ? '' : '?'}`),
        ...shapesOf(requestBody?.content).map((it) => `body: ${it}`),
        ...described.map(([status, it]) =>
          [status, ...shapesOf(it.content), `(${headersOf(it).join(', ')})`].join(' '),
        ),
        references.map(([status, { $ref = '' }]) => `${status} ${last($ref)}`).join(', '),
      ];
      t.matchSnapshot(lines.join('\n'), `${method.toUpperCase()} ${path}`);
    }
  }
});

t.test('where several profiles serve an operation, it describes the choice', async (t) => {
  const shared = ['get /v1/users', 'post /v1/users', 'get /v2/users'];
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, { description = '' }] of Object.entries(operations)) {
      const label = `${method} ${path}`;
      t.equal(/\bthe application has pinned\b/.test(description), shared.includes(label), label);
    }
  }
});

t.test('each shape of a body has an example', async (t) => {
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, { requestBody, responses }] of Object.entries(operations)) {
      for (const body of [requestBody, ...Object.values(responses)]) {
        for (const { schema, examples = {} } of Object.values(body?.content ?? {})) {
          const names = [...JSON.stringify(schema).matchAll(/schemas\/(\w+)/g)].map(([, name]) => name);
          t.same(Object.keys(examples).sort(), names.sort(), `${method} ${path}`);
        }
      }
    }
  }
});

t.test('the examples of bodies are accepted', async (t) => {
  const machine = await issuer.machine('read:users write:users');
  const password = 'correct horse battery';
  let count = 0;
  for (const [template, operations] of Object.entries(document.paths)) {
    for (const [method, { requestBody }] of Object.entries(operations)) {
      const examples = requestBody?.content['application/json']?.examples ?? {};
      for (const [name, { value }] of Object.entries(examples)) {
        count += 1;
        const draft = { username: `example${count}`, email: `example${count}@example.org`, password };
        const { body: somebody } = await call('POST', '/v1/users', machine, draft);
        const path = template.replace(/{\w+}/, somebody.id);
        const { status, body } = await call(method.toUpperCase(), path, machine, value);
        t.ok(status < 300, `${method} ${template} ${name}: ${status}`);
        // The next one may be the same.
        for (const id of [somebody.id, body?.id]) await call('DELETE', `/v1/users/${id}`, machine);
      }
    }
  }
  t.ok(count > 15, `${count} examples`);
});
