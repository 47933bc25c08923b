import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { skip, startNats } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import t from 'tap';
import { ALL, build, PRODUCTS } from './build.ts';

t.test(
  'a service by itself publishes its events to NATS, also those of a time without NATS',
  { skip },
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-nats-'));
    const server = await startNats(t, '--jetstream', '--store_dir', folder);
    t.teardown(() => rm(folder, { recursive: true, force: true }));
    await server.kill();
    const { call, issuer } = await build(t, { natsUrl: server.url });
    const machine = await issuer.machine(ALL);
    const product = { name: 'Green tea', price: 12.5, currency: 'USD' };
    const { id } = (await call('POST', PRODUCTS, machine, product)).body;
    await server.start();
    t.equal((await call('DELETE', `${PRODUCTS}/${id}`, machine)).status, 204);

    const nats = await connect({ servers: `127.0.0.1:${server.port}` });
    t.teardown(() => nats.close());
    const { streams } = await jetstreamManager(nats);
    const messages = async () => (await streams.info('COMMERCE').catch(() => undefined))?.state.messages ?? 0;
    await until(async () => (await messages()) === 2, 20_000);
    const stored = await Promise.all([1, 2].map((seq) => streams.getMessage('COMMERCE', { seq })));
    t.match(
      stored.map((message) => [message?.subject, message?.json()]),
      [
        ['commerce.product.changed', { data: { id, version: 1, price: 12.5 } }],
        ['commerce.product.deleted', { data: { id, version: 2 } }],
      ],
    );
  },
);
