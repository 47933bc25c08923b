import { createLogger } from '@gatehouse/core/logger';
import { skip, startNats } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { createNatsBroadcast } from '../src/nats-broadcast.ts';

t.setTimeout(60_000);

t.test('a server that hangs for long is given up, and found again', { skip }, async (t) => {
  const server = await startNats(t);
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger({ name: 'test', level: 'warn', readable: false, destination });
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
  await until(() => lines.some((line) => line.includes('the connection to NATS was lost')), 20_000);
  await until(() => lines.filter((line) => line.includes('NATS cannot be reached')).length >= 2, 20_000);
  server.goOn();
  await until(() => connections === 2, 10_000);
  await broadcast.publish('gatehouse.test', 'after');
  await until(() => got.length === 1, 5000);
  t.strictSame(got, ['after']);
});
