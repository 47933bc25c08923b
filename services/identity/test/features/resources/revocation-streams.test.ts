import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLocalBroadcast } from '@gatehouse/events/local-broadcast';
import { listen } from '@gatehouse/testing/listen';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { createResourceTokenStore } from '../../../src/core/revocations/resource-token-store.ts';
import { createRevocationStore } from '../../../src/core/revocations/revocation-store.ts';
import { createRevocations, positionAt } from '../../../src/core/revocations/revocations.ts';
import { createRevocationStreams } from '../../../src/features/resources/revocation-streams.ts';
import { withStores } from '../../store-set-up.ts';

const { store, resourceTokens, logger } = await withStores(t, (it) => ({
  store: createRevocationStore(it),
  resourceTokens: createResourceTokenStore(it),
}));
const revocations = createRevocations({
  ...{ store, resourceTokens, broadcast: createLocalBroadcast(), tokenLifetime: 3600, logger },
  pageSize: 3,
});
/** Happens between the reading of the last page and its sending. */
let afterLastPage = async () => {};
const streams = createRevocationStreams({
  revocations: {
    ...revocations,
    async list(...query) {
      const page = await revocations.list(...query);
      if (!page.more) await afterLastPage();
      return page;
    },
  },
  // None describes itself.
  verifiers: {
    connect: () => {
      throw new Error('described');
    },
  },
  ...{ logger, lifetimeMs: 4000 },
});
streams.start();
t.teardown(() => streams.stop());
const server = createServer((request, response) => {
  const after = request.headers['last-event-id'] as string | undefined;
  const listener = { resource: 'rsr_1', owner: 'usr_1', clientId: 'app_1', after, description: undefined };
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
