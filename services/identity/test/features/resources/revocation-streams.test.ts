import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLocalBroadcast } from '@gatehouse/events/local-broadcast';
import { listen } from '@gatehouse/testing/listen';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { createDerivedTokenStore } from '../../../src/core/revocations/derived-token-store.ts';
import { createResourceTokenStore } from '../../../src/core/revocations/resource-token-store.ts';
import { createRevocationStore } from '../../../src/core/revocations/revocation-store.ts';
import { createRevocations, normalPosition, positionAt } from '../../../src/core/revocations/revocations.ts';
import { createRevocationStreams } from '../../../src/features/resources/revocation-streams.ts';
import { withStores } from '../../store-set-up.ts';

const { store, resourceTokens, derivedTokens, logger } = await withStores(t, (it) => ({
  store: createRevocationStore(it),
  resourceTokens: createResourceTokenStore(it),
  derivedTokens: createDerivedTokenStore(it),
}));
const revocations = createRevocations({
  ...{ store, resourceTokens, derivedTokens, broadcast: createLocalBroadcast(), tokenLifetime: 3600, logger },
  pageSize: 3,
});
/** The resources that exist, with their owners. */
const owners = new Map<string, [id: string, owner: string][]>([['rsr_1', [['rsr_1', 'usr_1']]]]);
/** The access token of the next listener. */
let token: { id: string; expiresAt: number } | undefined;
/** Happens between the reading of the last page and its sending. */
let afterLastPage = async () => {};
const common = {
  // None describes itself.
  verifiers: {
    connect: () => {
      throw new Error('described');
    },
  },
  store: { ownersOf: async (ids: readonly string[]) => new Map(ids.flatMap((id) => owners.get(id) ?? [])) },
  ...{ logger, lifetimeMs: 4000 },
};
const streams = createRevocationStreams({
  ...common,
  revocations: {
    ...revocations,
    async list(...query) {
      const page = await revocations.list(...query);
      if (!page.more) await afterLastPage();
      return page;
    },
  },
});
streams.start();
t.teardown(() => streams.stop());
const server = createServer((request, response) => {
  const after = request.headers['last-event-id'] as string | undefined;
  const server = { clientId: 'app_1', owner: 'usr_1', consentEpoch: 0, isOfMember: false, token };
  const listener = { server, resource: 'rsr_1', after, description: undefined };
  streams.open(response, listener).catch(() => response.writeHead(429).end());
});
const url = `http://127.0.0.1:${await listen(t, server)}`;

const write = (prefix: string, count: number, resource = 'rsr_1') =>
  revocations.write(
    Array.from({ length: count }, (_, i) => ({ kind: 'token' as const, id: `${prefix}${i}`, resource })),
  );

/** The ids of a stream's entries and of its positions, as they come; `take` breaks it off after so many entries. */
async function read(after?: string, take = Number.POSITIVE_INFINITY) {
  const response = await fetch(url, { headers: after === undefined ? {} : { 'last-event-id': after } });
  const stream = { ids: [] as string[], positions: [] as string[], heartbeats: 0, isOver: false };
  void (async () => {
    let text = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const [, position] = /^id: (.*)$/m.exec(block) ?? [];
        const [, data] = /^data: (.*)$/m.exec(block) ?? [];
        if (position !== undefined) stream.positions.push(position);
        if (data === undefined) stream.heartbeats += Number(block.startsWith(': heartbeat'));
        else stream.ids.push(String((JSON.parse(data) as { id: string }).id));
        if (stream.ids.length >= take) return;
      }
    }
    stream.isOver = true;
  })().catch(() => {});
  return stream;
}

t.test('a stream has all pages, and what is revoked while they are sent', async (t) => {
  await Promise.all([write('a', 10), write('x', 10, 'rsr_2')]);
  const [stream] = await Promise.all([read(), write('b', 10)]);
  await until(() => stream.heartbeats > 0, 3000);
  await write('c', 5);
  await until(() => new Set(stream.ids).size === 25, 3000);
  t.notOk(stream.ids.some((id) => id.startsWith('x')));
});

t.test('whatever the position at which a stream broke off, nothing is missed', async (t) => {
  const all = await read();
  await until(() => all.heartbeats > 0, 3000);
  for (const taken of [1, 2, 3, 4, 7, 12]) {
    const first = await read(undefined, taken);
    await until(() => first.ids.length === taken, 3000);
    const rest = await read(first.positions.at(-1));
    await until(() => rest.heartbeats > 0, 3000);
    t.same([...new Set([...first.ids, ...rest.ids])].sort(), [...new Set(all.ids)].sort(), String(taken));
  }
});

t.test('what is revoked between the last page and its sending is not missed', async (t) => {
  let written = 0;
  afterLastPage = async () => {
    if (written > 0) return;
    written = 1;
    await write('late', 1);
    streams.hear({ kind: 'token', id: 'late0', expiresAt: 0 });
    await sleep(200);
  };
  const stream = await read(positionAt(new Date()));
  await until(() => stream.heartbeats > 0, 3000);
  t.ok(stream.ids.includes('late0'));
});

t.test('many revocations at once reach a stream that is current', async (t) => {
  const stream = await read();
  await until(() => stream.heartbeats > 0, 3000);
  await write('many', 40);
  streams.hear({ kind: 'token', id: 'many0', expiresAt: 0 });
  await until(() => stream.ids.filter((id) => id.startsWith('many')).length === 40, 3000);
  t.equal(new Set(stream.ids).size, stream.ids.length, 'each once');
});

t.test('a withdrawn signing key reaches every API, whatever tokens it has', async (t) => {
  const stream = await read();
  await until(() => stream.heartbeats > 0, 3000);
  await revocations.write([{ kind: 'key', id: 'kid_1' }]);
  streams.hear({ kind: 'key', id: 'kid_1', expiresAt: 0 });
  await until(() => stream.ids.includes('kid_1'), 3000);
  const ofUnused: string[] = [];
  for (let page = await revocations.list(undefined, 'rsr_unused'); ; ) {
    ofUnused.push(...page.revocations.map(({ kind, id }) => `${kind} ${id}`));
    if (!page.more) break;
    page = await revocations.list(page.as_of, 'rsr_unused');
  }
  t.same(ofUnused, ['key kid_1']);
});

t.test('a stream ends after its lifetime, and with the access of its owner', async (t) => {
  const [stream, other] = [await read(), await read()];
  await until(() => stream.heartbeats > 0 && other.heartbeats > 0, 3000);
  streams.hear({ kind: 'subject', id: 'usr_2', expiresAt: 0 });
  t.notOk(stream.isOver);
  streams.hear({ kind: 'subject', id: 'usr_1', expiresAt: 0 });
  await until(() => stream.isOver && other.isOver, 3000);
  const last = await read();
  await until(() => last.isOver, 10_000);
  t.ok(last.heartbeats >= 1);
});

t.test('a stream ends when its resource is deleted, and when its token is revoked or expires', async (t) => {
  const stream = await read();
  await until(() => stream.heartbeats > 0, 6000);
  const known = owners.get('rsr_1') ?? [];
  owners.delete('rsr_1');
  await until(() => stream.isOver, 6000);
  owners.set('rsr_1', [['rsr_1', 'usr_2']]);
  const ofOther = await read();
  await until(() => ofOther.isOver, 6000);
  owners.set('rsr_1', known);
  token = { id: 'jti_1', expiresAt: Date.now() / 1000 + 3600 };
  const byToken = await read();
  await until(() => byToken.heartbeats > 0, 6000);
  streams.hear({ kind: 'token', id: 'jti_2', expiresAt: 0 });
  t.notOk(byToken.isOver);
  streams.hear({ kind: 'token', id: 'jti_1', expiresAt: 0 });
  await until(() => byToken.isOver, 6000);
  token = { id: 'jti_3', expiresAt: Date.now() / 1000 };
  const expired = await read();
  await until(() => expired.isOver, 6000);
});

t.test('a process that is full ends a stream of the owner who has most', async (t) => {
  const small = createRevocationStreams({ ...common, revocations, maxStreams: 4 });
  t.teardown(() => small.stop());
  const opened = new Map<string, ServerResponse>();
  const own = createServer((request, response) => {
    const [, owner = '', name = ''] = (request.url ?? '').split('/');
    opened.set(`${owner} ${name}`, response);
    const server = { clientId: 'app_1', owner, consentEpoch: 0, isOfMember: false, token: undefined };
    const listener = { server, resource: 'rsr_1', after: undefined, description: undefined };
    small.open(response, listener).catch(() => response.writeHead(429).end());
  });
  const base = `http://127.0.0.1:${await listen(t, own)}`;
  const open = async (path: string) => (await fetch(`${base}/${path}`)).status;
  const statuses: number[] = [];
  for (const name of ['1', '2', '3', '4', '5']) statuses.push(await open(`greedy/${name}`));
  t.strictSame(statuses, [200, 200, 200, 200, 429]);
  t.equal(await open('modest/1'), 200);
  const ofGreedy = ['1', '2', '3', '4'].map((name) => opened.get(`greedy ${name}`));
  await until(() => ofGreedy.filter((it) => it?.destroyed).length === 1, 6000);
  t.equal(await open('modest/2'), 200);
  t.equal(await open('modest/3'), 429, 'not more than others have');
});

t.test('a position from outside is none to be sent back as it is', async (t) => {
  t.notMatch(normalPosition('x\n\ndata: {"kind":"token"}'), /\n|data/);
  const { as_of } = await revocations.list(undefined, 'rsr_1');
  t.equal(normalPosition(as_of), as_of);
});
