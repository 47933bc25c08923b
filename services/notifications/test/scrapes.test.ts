import { until } from '@gatehouse/testing/processes';
import mongoose from 'mongoose';
import t from 'tap';
import { build } from './build.ts';

t.test('a scrape sends nothing to the database', async (t) => {
  const { base } = await build(t);
  const scrape = async () => (await fetch(`${base}/metrics`)).text();
  await until(async () => (await scrape()).includes('gatehouse_jobs_waiting{'), 15_000);

  // Each command takes a connection of the pool, which the driver tells whoever listens.
  const client: { emit(event: string): boolean } = mongoose.mongo.MongoClient.prototype as never;
  const events = t.capture(client, 'emit', client.emit);
  let commands = 0;
  const count = () => {
    commands += events().filter(({ args: [event] }) => event === 'connectionCheckOutStarted').length;
    return commands;
  };
  for (let i = 0; i < 100; i += 1) await scrape();
  // The services go on with their own work meanwhile.
  const during = count();
  t.ok(during < 50, `${during} commands during 100 scrapes`);
  await fetch(`${base}/health/ready`);
  t.ok(count() > during, 'a command is seen here');
});
