import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { unescapeHtml } from '@gatehouse/testing/form-browser';
import { loginToken } from '@gatehouse/testing/json-request';
import { documentProblems } from '@gatehouse/testing/openapi-check';
import t from 'tap';
import { startGatehouse, temporaryDir } from './gatehouse.ts';

type Json = Record<string, unknown>;
type Body = { content: Record<string, { examples?: Record<string, { value: object }> }> };
type Operation = Json & { operationId: string; tags: string[]; responses: Json; requestBody?: Body };
type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
  'x-tagGroups': { tags: string[] }[];
  tags: { name: string }[];
  servers: { url: string }[];
};

/**
 * What a well-formed example is refused for: what it names is not there, or the application is not a device. A search takes its
 * words in two ways.
 */
const NO_SUCH =
  /is not a (?:signing key|user|product that can be ordered)|must be the client ID of an application|"unauthorized_client"|^\{"error":\{"code":"\w+","message":"q is required/;

const run = promisify(execFile);
const { base, demo } = await startGatehouse(t, temporaryDir(t));
const read = async (path: string) => (await (await fetch(base + path)).json()) as Document;
const document = await read('/openapi.json');
const services = ['identity', 'users', 'items', 'commerce', 'notifications'];
const documents = await Promise.all(services.map((service) => read(`/openapi/${service}.json`)));
const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  );

t.test('every operation of every service is in it once, unchanged but for references', async (t) => {
  for (const own of documents) {
    for (const { method, path, operation } of operationsOf(own)) {
      const merged = document.paths[path]?.[method];
      t.equal(unfolded(merged, document), unfolded(operation, own), `${method} ${path}`);
    }
    const { securitySchemes = {} } = own.components;
    for (const [name, scheme] of Object.entries(securitySchemes)) {
      t.same(document.components.securitySchemes?.[name], scheme, name);
    }
  }
  t.equal(operationsOf(document).length, documents.flatMap(operationsOf).length);
  const grouped = document['x-tagGroups'].flatMap(({ tags }) => tags);
  const objects = document.tags.map(({ name }) => name).filter((name) => name !== 'guides');
  t.same(grouped.sort(), objects.sort(), 'every tag of objects is in one group');
});

/** As JSON text, with each component in the place of the reference to it. */
function unfolded(value: unknown, { components }: Document): string {
  const unfold = (text: string, seen: readonly string[]): string =>
    text.replaceAll(/\{"\$ref":"#\/components\/(\w+)\/([^"]+)"\}/g, (_, kind: string, name: string) =>
      seen.includes(name) ? '"…"' : unfold(JSON.stringify(components[kind]?.[name]), [...seen, name]),
    );
  return unfold(JSON.stringify(value), []);
}

t.test('it is asked for again by its ETag', async (t) => {
  const { headers } = await fetch(`${base}/openapi.json`);
  const again = await fetch(`${base}/openapi.json`, {
    headers: { 'if-none-match': headers.get('etag') ?? '' },
  });
  t.equal(again.status, 304);
  t.equal(headers.get('access-control-allow-origin'), '*', 'for tools on other sites');
});

t.test('every request of the reference can be copied into a shell, and is well formed', async (t) => {
  const token = await loginToken(base, demo.admin);
  const ends = new Set(['logout_api_v1_auth', 'refresh_api_v1_auth', 'remove_all_api_v1_sessions']);
  const variables = ['ID', 'CLIENT', 'USER', 'ITEM', 'QUEUE', 'LANE'].flatMap((name) => [name, `${name}_ID`]);
  const env = {
    ...Object.fromEntries(variables.map((name) => [name, 'unknown'])),
    ...{ PATH: process.env.PATH, TOKEN: token, Q: 'tea', METRIC: 'requests', METRICS: 'requests' },
    ...{ RESPONSE_TYPE: 'code', REDIRECT_URI: demo.web.redirect_uri, SCOPE: 'openid' },
  };
  const html = await (await fetch(`${base}/docs/api`)).text();
  const pages = new Set([...html.matchAll(/href="(\/docs\/api\/[^"#]+)"/g)].map(([, href = '']) => href));
  const commands = new Map<string, string>();
  /** Where the paths are named that have the operations of another. */
  let texts = '';
  for (const page of pages) {
    const text = await (await fetch(base + page)).text();
    texts += unescapeHtml(text.replaceAll(/<[^>]+>/g, ''));
    for (const [, id = '', code = ''] of text.matchAll(
      /<pre id="([\w-]+)-curl"[^>]*><code>([\s\S]*?)<\/code>/g,
    )) {
      commands.set(id, unescapeHtml(code.replaceAll(/<[^>]+>/g, '')));
    }
  }
  const server = document.servers[0]?.url ?? '';
  const sent: { id: string; responses: Json; command: string }[] = [];
  for (const { path, operation } of operationsOf(document)) {
    const { operationId: id, responses, tags = [] } = operation;
    if (tags.includes('guides')) continue;
    const command = commands.get(id);
    if (command === undefined) {
      t.ok(texts.includes(path), `${id} is named with another path`);
      continue;
    }
    t.match(command, `curl "${server}`, id);
    if (!ends.has(id)) sent.push({ id, responses, command });
  }
  // All in one shell, as starting one for each takes longer than the requests.
  const script = sent.map(({ id, command }) => {
    const { client_id, client_secret } = /authorize|par$/.test(id) ? demo.web : demo.machine;
    const credentials = `CLIENT_ID='${client_id}' CLIENT_SECRET='${client_secret}'`;
    return `${credentials}\n${command.replace(server, base)} -s -w '\\n%{http_code}'; printf '\\0'`;
  });
  const { stdout } = await run('bash', ['-c', script.join('\n')], { env, maxBuffer: 64 * 1024 ** 2 });
  const outputs = stdout.split('\0');
  for (const [i, { id, responses, command }] of sent.entries()) {
    const [, body = '', status = ''] = /^([\s\S]*)\n(\d+)$/.exec(outputs[i] ?? '') ?? [];
    t.ok(Object.hasOwn(responses, status), `${id} is answered as documented: ${status}`);
    if (['400', '415', '500', '503'].includes(status)) t.match(body, NO_SUCH, `${id}: ${status}\n${command}`);
  }
});

/** Their specifications demand that unknown parameters are ignored: RFC 6749 §3.2, RFC 7591 §2. */
const OPEN = /^\/(?:oauth2?|userinfo)\b/;
/** For event streams and servers of APIs, which the demo has none of. */
const OF_OTHERS = /^\/api\/v1\/ssf\/|\/applied$/;

t.test('no other body has members that its document does not name', async (t) => {
  const token = await loginToken(base, demo.admin);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  let walked = 0;
  for (const { method, path, operation } of operationsOf(document)) {
    const { examples = {} } = operation.requestBody?.content['application/json'] ?? {};
    const [example] = Object.values(examples);
    if (example === undefined || OPEN.test(path) || OF_OTHERS.test(path)) continue;
    walked += 1;
    const response = await fetch(base + path.replaceAll(/\{\w+\}/g, 'unknown'), {
      ...{ method: method.toUpperCase(), headers },
      body: JSON.stringify({ ...example.value, unknown_member: 1 }),
    });
    t.equal(response.status, 400, `${method} ${path}`);
    t.match(await response.text(), 'unknown_member is not a known field', `${method} ${path}`);
  }
  t.ok(walked > 40, `${walked} bodies`);
});

t.test('/openapi.json is valid, and so are its examples', async (t) => {
  t.same(await documentProblems(document), []);
  t.equal(document.servers.length, 1);
});
