import { skip, startJetStream } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import t from 'tap';
import { ANN, build, PRODUCTS } from './build.ts';

t.test(
  'a service by itself publishes its events to NATS, also those of a time without NATS',
  { skip },
  async (t) => {
    const server = await startJetStream(t);
    await server.kill();
    const { call, issuer, machine } = await build(t, { natsUrl: server.url });
    const product = { name: 'Green tea', price: 12.5, currency: 'USD' };
    const { id } = (await call('POST', PRODUCTS, machine, product)).body;
    await server.start();
    t.equal((await call('DELETE', `${PRODUCTS}/${id}`, machine)).status, 204);

    const nats = await connect({ servers: `127.0.0.1:${server.port}` });
    t.teardown(() => nats.close());
    const { streams } = await jetstreamManager(nats);
    const messages = async () => (await streams.info('COMMERCE').catch(() => undefined))?.state.messages ?? 0;
    const published = async (from: number, to: number) => {
      await until(async () => (await messages()) === to, 20_000);
      const all = Array.from({ length: to + 1 - from }, (_, i) =>
        streams.getMessage('COMMERCE', { seq: from + i }),
      );
      return (await Promise.all(all)).map((message) => [message?.subject, message?.json()]);
    };
    t.match(await published(1, 2), [
      ['commerce.product.changed', { data: { id, version: 1, price: 12.5 } }],
      ['commerce.product.deleted', { data: { id, version: 2 } }],
    ]);

    // Those of an order one after the other, since only the events of one document have an order.
    const { id: tea } = (await call('POST', PRODUCTS, machine, { ...product, stock: 5 })).body;
    await published(3, 3);
    const order = { items: [{ product_id: tea, quantity: 2 }], currency: 'USD', user_id: ANN };
    const agent = await issuer.sign({
      ...{ sub: ANN, client_id: 'app_2', scope: 'write:data', roles: ['user'] },
      act: { sub: 'app_2', act: { sub: 'app_1' } },
    });
    const { id: placed } = (await call('POST', '/v2/orders', agent, order)).body;
    await published(4, 4);
    for (const [status, token] of [
      ['confirmed', machine],
      ['cancelled', agent],
    ] as const)
      t.equal((await call('PUT', `/v2/orders/${placed}`, token, { status })).status, 200);
    await published(5, 6);
    await call('PUT', `${PRODUCTS}/${tea}`, machine, { price: 13 });
    const data = { id: placed, user_id: ANN, currency: 'USD', total_amount: 25 };
    const items = [{ product_id: tea, quantity: 2 }];
    const actors = ['app_2', 'app_1'];
    t.match(await published(3, 7), [
      ['commerce.product.changed', { data: { id: tea, version: 1, stock: 5 } }],
      ['commerce.order.created', { data: { ...data, items, version: 1, status: 'pending', actors } }],
      [
        'commerce.order.changed',
        { data: { ...data, items, version: 2, status: 'confirmed', actors: undefined } },
      ],
      ['commerce.order.changed', { data: { ...data, items, version: 3, status: 'cancelled', actors } }],
      ['commerce.product.changed', { data: { id: tea, version: 2, stock: 5, price: 13 } }],
    ]);
  },
);
