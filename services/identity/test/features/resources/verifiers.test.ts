import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build } from '../../build.ts';

const built = await build(t, { checkResponses: true });
const { call, base } = built;
const PATH = '/api/v1/resources';
const [admin, ann] = [await built.login('admin'), await built.login('ann')];

type Described = { id: string; stale?: string; agent?: string };
type Verifier = {
  id: string;
  language: string;
  version: string;
  stale: string;
  connected: boolean;
  connected_since: string;
  behind_seconds: number;
};
type Test = { id: string; verifiers: { id: string; sent_after_ms: number; applied_after_ms: number }[] };

const headersOf = ({ id, stale = 'introspect', agent = 'gatehouse-verify-node/0.1.0' }: Described) => ({
  'user-agent': agent,
  'x-gatehouse-verifier': `id=${id}; stale=${stale}`,
});

/** A registered API of ann's, and its server. */
async function api(name: string) {
  const scopes = [{ name: 'notes:read', description: 'Read your notes' }];
  const draft = { identifier: `https://${name}.example.com/api`, name, scopes };
  const { body } = await call('POST', PATH, ann, draft);
  const server = await built.createApplication(ann, { name, type: 'resource', scopes: [] });
  const authorization = `Basic ${btoa(`${server.client_id}:${server.client_secret}`)}`;
  const path = `${PATH}/${body.id}`;
  const read = (headers: Record<string, string>, signal?: AbortSignal) =>
    fetch(`${base}${path}/revocations`, { headers: { authorization, ...headers }, signal: signal ?? null });
  return {
    path,
    authorization,
    poll: async (described: Described) => (await read(headersOf(described))).text(),
    /** Connects a stream, and returns what it reads and a function that ends it. */
    async connect(t: { teardown(fn: () => void): void }, described: Described) {
      const abort = new AbortController();
      t.teardown(() => abort.abort());
      const headers = { ...headersOf(described), accept: 'text/event-stream' };
      const response = await read(headers, abort.signal);
      const stream = { text: '', close: () => abort.abort() };
      void (async () => {
        for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? [])
          stream.text += chunk;
      })().catch(() => {});
      return stream;
    },
    list: async (login = ann) =>
      (await call('GET', `${path}/verifiers`, login)).body.data as unknown as Verifier[],
    test: async () => {
      const { status, body } = await call('POST', `${path}/revocation-test`, ann);
      return { status, ...(body as unknown as Test) };
    },
    report: (id: string, report: object, credential = authorization) =>
      fetch(`${base}${path}/verifiers/${id}/report`, {
        method: 'POST',
        headers: { authorization: credential, 'content-type': 'application/json' },
        body: JSON.stringify(report),
      }),
  };
}

t.test('the owner of an API sees which verifiers read its revocations', async (t) => {
  const own = await api('seen');
  t.same(await own.list(), []);
  const stream = await own.connect(t, { id: 'aaaaaaaa-1', stale: 'refuse' });
  await own.poll({ id: 'bbbbbbbb-2', agent: 'gatehouse-verify-python/1.2.0rc1' });
  await until(async () => (await own.list()).length === 2, 2000);
  for (const login of [ann, admin]) {
    const [first, second] = await own.list(login);
    t.match(first, { id: 'aaaaaaaa-1', language: 'node', version: '0.1.0', stale: 'refuse' });
    t.match(first, { connected: true, behind_seconds: 0 });
    t.match(second, { id: 'bbbbbbbb-2', language: 'python', version: '1.2.0rc1', connected: true });
  }
  const [{ connected_since: since } = { connected_since: '' }] = await own.list();
  stream.close();
  await until(async () => (await own.list())[0]?.connected === false, 2000);
  t.equal((await own.list())[0]?.connected_since, since);
});

t.test('a program that does not describe itself well is not listed, and reads all the same', async (t) => {
  const own = await api('malformed');
  for (const described of [
    { id: 'short' },
    { id: 'x'.repeat(65) },
    { id: 'aaaaaaaa', stale: 'ignore' },
    { id: 'aaaa<b>aaa' },
    { id: 'aaaaaaaa', agent: 'curl/8.1' },
    { id: 'aaaaaaaa', agent: 'gatehouse-verify-node/1<b>' },
    { id: 'aaaaaaaa', agent: `gatehouse-verify-node/1${'0'.repeat(40)}` },
  ]) {
    t.match(JSON.parse(await own.poll(described)), { revocations: [] });
  }
  const stream = await own.connect(t, { id: 'short' });
  await until(() => stream.text.includes('heartbeat'), 2000);
  t.same(await own.list(), []);
});

t.test('at most 100 verifiers of an API are known', async (t) => {
  const own = await api('many');
  const poll = (count: number) => own.poll({ id: `verifier-${1000 + count}` });
  await poll(0);
  await until(async () => (await own.list()).length === 1, 2000);
  await Promise.all(Array.from({ length: 103 }, (_, count) => poll(count + 1)));
  await poll(104);
  await until(async () => (await own.list()).some(({ id }) => id === 'verifier-1104'), 2000);
  const ids = (await own.list()).map(({ id }) => id);
  t.equal(ids.length, 100);
  const database = await built.database();
  await until(
    async () => (await database.collection('verifiers').countDocuments({ resource: idIn(own.path) })) === 100,
    2000,
  );
  t.notOk(ids.includes('verifier-1000'), 'the oldest is forgotten');
});

t.test('a test tells when each verifier was sent a revocation', async (t) => {
  const own = await api('tested');
  const earlier = await own.test();
  t.match(earlier, { status: 200, verifiers: [] }, 'without verifiers');
  const first = await own.connect(t, { id: 'aaaaaaaa' });
  await own.connect(t, { id: 'bbbbbbbb' });
  await own.poll({ id: 'cccccccc' });
  await until(async () => (await own.list()).length === 3, 2000);
  const other = await api('untested');
  const stranger = await other.connect(t, { id: 'dddddddd' });
  await until(async () => (await other.list()).length === 1, 2000);

  const running = own.test();
  const newest = () => first.text.match(/revocation-test-[\w-]+/g)?.find((it) => it !== earlier.id);
  await until(() => newest() !== undefined, 2000);
  const id = newest() ?? '';
  t.equal((await own.report('aaaaaaaa', { applied: id })).status, 204);
  const another = { applied: 'revocation-test-of-another-time' };
  t.equal((await own.report('bbbbbbbb', another)).status, 204);
  const { verifiers, ...rest } = await running;
  t.match(rest, { status: 200, id });
  const of = (wanted: string) => verifiers.find((it) => it.id === wanted);
  for (const one of ['aaaaaaaa', 'bbbbbbbb']) {
    const ms = of(one)?.sent_after_ms ?? -1;
    t.ok(ms >= 0 && ms < 1000, `${one} after ${ms} ms`);
  }
  t.type(of('aaaaaaaa')?.applied_after_ms, 'number');
  t.equal(of('bbbbbbbb')?.applied_after_ms, null);
  t.equal(of('cccccccc')?.sent_after_ms, null, 'one that does not ask in time');
  t.notMatch(stranger.text, 'revocation-test-');
  t.same((await other.test()).verifiers.length, 1);

  const { body: log } = await call('GET', '/api/v1/audit?filter[action]=resource.revocation_tested', admin);
  t.match(log.data, [{ actor: built.people.ann.id }, { details: { resource: idIn(own.path) } }]);
  const { body: recent } = await call('GET', `${own.path}/recent-revocations`, ann);
  t.match(recent.data, [{ kind: 'token', id: `…${id.slice(-8)}`, test: true }, { test: true }]);
  t.notMatch(JSON.stringify(recent), id);

  const statuses = [];
  for (let count = 0; count < 10; count += 1)
    statuses.push((await call('POST', `${own.path}/revocation-test`, ann)).status);
  t.same(statuses.slice(7), [200, 429, 429]);
});

t.test('a verifier reports its requests', async (t) => {
  const own = await api('counts');
  await own.poll({ id: 'aaaaaaaa' });
  await until(async () => (await own.list()).length === 1, 2000);
  t.match(await own.list(), [{ requests: null }]);
  const refused = [{ status: 401, error: 'invalid_token', count: 2 }];
  const requests = { person: 5, machine: 1, key: 0, refused };
  t.equal((await own.report('aaaaaaaa', { requests })).status, 204);
  t.match(await own.list(), [{ requests }]);
  t.equal((await own.report('unknown1', { requests })).status, 204);
  t.equal((await own.list()).length, 1, 'a report makes no verifier');
  for (const [what, wrong] of [
    ['a text', { person: '5' }],
    ['a negative number', { machine: -1 }],
    ['an error that is a sentence', { refused: [{ status: 401, error: 'Not <b>valid</b>', count: 1 }] }],
    ['too many errors', { refused: Array.from({ length: 21 }, () => refused[0]) }],
    ['a status that is none', { refused: [{ status: 200, error: 'invalid_token', count: 1 }] }],
  ] as const) {
    t.equal((await own.report('aaaaaaaa', { requests: { ...requests, ...wrong } })).status, 400, what);
  }
  t.equal((await own.report('$', { requests })).status, 404);
});

t.test('only the owner, admins and the server', async (t) => {
  const own = await api('closed');
  const eva = 'eva';
  await built.createPerson(eva);
  const stranger = await built.login(eva);
  for (const [method, path] of [
    ['GET', 'verifiers'],
    ['GET', 'recent-revocations'],
    ['POST', 'revocation-test'],
  ] as const) {
    const url = `${own.path}/${path}`;
    const basic = await fetch(base + url, { method, headers: { authorization: own.authorization } });
    t.equal(basic.status, 401, `${path} for its server`);
    t.equal((await call(method, url, stranger)).status, 404, `${path} for another person`);
    t.equal((await call(method, url, admin)).status, 200, `${path} for an admin`);
  }
  t.equal((await own.report('aaaaaaaa', {}, `Bearer ${ann}`)).status, 403);
  t.equal((await own.report('aaaaaaaa', {}, `Basic ${btoa('a:b')}`)).status, 401);
  const other = await built.createApplication(admin, { name: 'Other', type: 'resource', scopes: [] });
  const basic = `Basic ${btoa(`${other.client_id}:${other.client_secret}`)}`;
  t.equal((await own.report('aaaaaaaa', {}, basic)).status, 404);
});

function idIn(path: string): string {
  return path.split('/').at(-1) ?? '';
}
