import { connect } from 'node:net';
import { promisify } from 'node:util';
import { checkAfterBody } from '@gatehouse/api/http/request-body';
import { createListStreams } from '@gatehouse/api/resource/list-streams';
import { newId } from '@gatehouse/core/ids';
import { createLogger } from '@gatehouse/core/logger';
import { until } from '@gatehouse/testing/processes';
import type { Caller } from '@gatehouse/tokens/caller';
import fastify from 'fastify';
import t, { type Test } from 'tap';

type Row = { id: string; text: string };
const FIRST = `evt_${'0'.repeat(26)}`;

/** A server with streams of the rows that `rowsAfter` returns. */
async function serve(
  t: Test,
  options: { latestId(): Promise<string>; rowsAfter(id: string): Promise<Row[]>; recheck?(): Promise<void> },
) {
  const { latestId, rowsAfter, recheck = async () => {} } = options;
  const streams = createListStreams<Row>({
    ...{ idPrefix: 'evt', latestId, maxUnreadMs: 500 },
    eventOf: ({ text }) => ({ type: 'row', data: text }),
    logger: createLogger({ name: 'test', level: 'error' }),
  });
  const app = fastify();
  app.get('/', async (request, reply) => {
    checkAfterBody(request.raw, recheck);
    await streams.open(request, reply, { caller: { clientId: 'app_a' } as Caller, rowsAfter });
    return reply;
  });
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  streams.start();
  t.teardown(async () => {
    await streams.stop();
    app.server.closeAllConnections();
    await app.close();
  });
  const connections = () => promisify(app.server.getConnections).call(app.server);
  return { url: new URL(address), connections };
}

t.test('rows that are added while a page is read come once', async (t) => {
  const rows = Array.from({ length: 5 }, (_, i) => ({ id: newId('evt'), text: String(i) }));
  let listed = 0;
  const { url } = await serve(t, {
    async latestId() {
      listed = Math.min(listed + 1, rows.length);
      return rows[listed - 1]?.id ?? FIRST;
    },
    // One more is added before the list is read.
    async rowsAfter(id) {
      listed = Math.min(listed + 1, rows.length);
      return rows.slice(0, listed).filter((row) => row.id > id);
    },
  });
  const response = await fetch(url, { headers: { 'last-event-id': FIRST } });
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (text.includes('"4"')) break;
  }
  t.same(
    [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id),
    rows.map(({ id }) => id),
  );
});

t.test('a client that does not read is disconnected, and its credential is checked until then', async (t) => {
  let checks = 0;
  const { url, connections } = await serve(t, {
    latestId: async () => newId('evt'),
    rowsAfter: async () =>
      Array.from({ length: 100 }, () => ({ id: newId('evt'), text: 'x'.repeat(10_000) })),
    async recheck() {
      checks += 1;
    },
  });
  const socket = connect(Number(url.port), url.hostname);
  t.teardown(() => socket.destroy());
  socket.on('error', () => {}).pause();
  socket.write(`GET / HTTP/1.1\r\nhost: x\r\nlast-event-id: ${FIRST}\r\n\r\n`);
  await until(() => checks >= 2, 5000);
  await until(async () => (await connections()) === 0, 5000);
});
