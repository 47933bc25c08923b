import { skip, startNats } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { createNatsBroadcast } from '../src/nats-broadcast.ts';

t.setTimeout(60_000);

t.test('a server that hangs for long is given up, and found again', { skip }, async (t) => {
  const server = await startNats(t);
  const { logger, lines } = recordingLogger('warn');
  const broadcast = createNatsBroadcast({ url: server.url, name: 'test', logger });
  t.teardown(() => broadcast.stop());
  const got: unknown[] = [];
  let connections = 0;
  broadcast.subscribe('gatehouse.test', (message) => got.push(message));
  broadcast.onReconnect(() => {
    connections += 1;
  });
  await broadcast.start();
  await until(() => connections === 1, 5000);
  await server.hang();
  t.teardown(() => server.goOn());
  await until(() => lines.some(({ msg }) => String(msg).includes('the connection to NATS was lost')), 20_000);
  await until(
    () => lines.filter(({ msg }) => String(msg).includes('NATS cannot be reached')).length >= 1,
    20_000,
  );
  server.goOn();
  await until(() => connections === 2, 10_000);
  await broadcast.publish('gatehouse.test', 'after');
  await until(() => got.length === 1, 5000);
  t.strictSame(got, ['after']);
});
