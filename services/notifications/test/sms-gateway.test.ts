import { createServer, type ServerResponse } from 'node:http';
import { countConnections, listen } from '@gatehouse/testing/listen';
import { until } from '@gatehouse/testing/processes';
import t, { type Test } from 'tap';
import { createSmsProvider } from '../src/notifications/channels/sms-provider.ts';

const MIB = 1024 * 1024;
const CHUNK = Buffer.alloc(65_536, ' ');
const MESSAGE = { id: 'ntf_1', text: 'Hello', isUrgent: false };

/** A gateway that answers every message like this, and tells how many connections it has. */
async function startGateway(t: Test, reply: (response: ServerResponse) => void) {
  const server = createServer((request, response) => {
    seen.messages += 1;
    request.resume().once('end', () => reply(response));
  });
  const seen = Object.assign(countConnections(server), { messages: 0 });
  const port = await listen(t, server);
  const provider = createSmsProvider({ url: `http://AC1:t0ken@127.0.0.1:${port}/`, from: '+15005550006' });
  const send = (ms = 10_000) => provider.send(MESSAGE, '+49 30 1234567', AbortSignal.timeout(ms));
  return { seen, send };
}

const failure = (sent: Promise<unknown>) =>
  sent.then(
    () => undefined,
    (error: unknown) => error,
  );

const endless = (status: number) => (response: ServerResponse) => {
  response.writeHead(status, { 'content-type': 'application/json' }).write('{"sid": "SM1", "');
  const write = () => {
    while (!response.destroyed && response.write(CHUNK));
  };
  response.on('drain', write);
  write();
};

t.test('a gateway whose answer does not end has accepted the message, and costs no memory', async (t) => {
  const { seen, send } = await startGateway(t, endless(201));
  const before = process.memoryUsage().rss;
  for (let i = 1; i <= 10; i += 1) {
    t.same(await send(), { providerId: null });
    t.equal(seen.messages, i, 'it is sent once');
  }
  t.ok(process.memoryUsage().rss - before < 64 * MIB);
  await until(() => seen.open === 0, 2000);
});

t.test('a gateway whose error response does not end has refused the message', async (t) => {
  const { seen, send } = await startGateway(t, endless(400));
  t.match(await failure(send()), { kind: 'rejected', mayBeAccepted: false });
  await until(() => seen.open === 0, 2000);
});

t.test('an answer that stops has been given; without one, the message may have been accepted', async (t) => {
  const stops = await startGateway(t, (response) => void response.writeHead(201).write('{"sid":'));
  t.same(await stops.send(500), { providerId: null });
  const breaks = await startGateway(t, (response) => void response.destroy());
  t.match(await failure(breaks.send()), { kind: 'failing', mayBeAccepted: true });
  const silent = await startGateway(t, () => {});
  t.match(await failure(silent.send(500)), { kind: 'failing', mayBeAccepted: true });
});
