// What bench/orders.ts compares the service with: Fastify and the driver, which place orders by the same requests to the
// database in the same order, without credentials, checks of the body, logs and metrics. The requests have the same conditions,
// since an order that another process has undone must not be placed, and the same write concern: both change what the
// database does for each. At /publishing the server also publishes the event of each order, to the stream that the service
// has made, and removes it from the order once it is stored, as the service does; at /commerce it only removes it. Listens on
// PORT, with the MongoDB of MONGODB_URI and the NATS of NATS_URL.

import { newId } from '@gatehouse/core/ids';
import { createBatches } from '@gatehouse/data/batches';
import { writeConcernOf } from '@gatehouse/data/database';
import type { OutboxEvent } from '@gatehouse/data/outbox';
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import mongoose from 'mongoose';
import { OFFER_FIELDS, type ProductDocument } from '../src/store/product-document.ts';
import { reservationOf } from '../src/store/stock-reservation.ts';

type Items = { product_id: string; quantity: number }[];

const { PORT = '', MONGODB_URI = '', NATS_URL = '' } = process.env;
const options = { maxPoolSize: 50, writeConcern: writeConcernOf(MONGODB_URI) };
const client = await new mongoose.mongo.MongoClient(MONGODB_URI, options).connect();
const products = client.db('bare').collection<ProductDocument>('products');
const orders = client.db('bare').collection<{ _id: string }>('orders');
// Without NATS, the events of the service wait, too.
const nats = await connect({ servers: NATS_URL }).catch(() => undefined);
const stream = nats && jetstream(nats);
const app = Fastify();

const settle = createBatches({
  max: 100,
  run: async (placed: readonly { id: string; ids: string[] }[]) => {
    const orderIds = placed.map(({ id }) => id);
    await products.updateMany(
      { _id: { $in: placed.flatMap(({ ids }) => ids) }, 'reservations.order_id': { $in: orderIds } },
      { $pull: { reservations: { order_id: { $in: orderIds } } } as never },
    );
    await orders.updateMany({ _id: { $in: orderIds }, 'stock.phase': 'settling' }, { $unset: { stock: '' } });
    return [];
  },
});

async function empty(_id: string, isPublishing: boolean): Promise<void> {
  const order = await orders.findOne({ _id }, { projection: { outbox: 1 } });
  const [event] = (order as unknown as { outbox: OutboxEvent[] }).outbox;
  if (isPublishing && event !== undefined) {
    const { id, at, data } = event;
    await stream?.publish(event.subject, JSON.stringify({ id, at, data }), { msgID: id });
  }
  const pull = { $pull: { outbox: { id: _id } } };
  await orders.findOneAndUpdate({ _id }, pull as never, {
    projection: { outbox: 1 },
    returnDocument: 'after',
  });
}

app.get('/commerce', async () => ({}));
type Body = { items: Items; currency: string };

async function place(body: Body, isPublishing: boolean, reply: FastifyReply) {
  const { items, currency } = body;
  const ids = items.map(({ product_id }) => product_id);
  const found = await products
    .find({ _id: { $in: ids }, name_key: { $gt: '' } }, { projection: OFFER_FIELDS })
    .toArray();
  const prices = new Map(found.map(({ _id, price_minor }) => [_id, price_minor]));
  const lines = items.map((item) => ({ ...item, unit_price_minor: prices.get(item.product_id) ?? 0 }));
  const total = lines.reduce((sum, line) => sum + line.quantity * line.unit_price_minor, 0);
  const [_id, now] = [newId('ord'), new Date()];
  const customer = `usr_${Math.floor(Math.random() * 200)}`;
  const pending = { user_id: customer, slot: Math.floor(Math.random() * 1e9) };
  const reserving = { phase: 'reserving', until: now };
  await orders.insertOne({ _id, lines, deleted_at: new Date(0), pending, stock: reserving } as {
    _id: string;
  });
  const { matchedCount } = await products.bulkWrite(
    items.map((line) => ({ updateOne: reservationOf(_id, line) })) as never,
    { ordered: true },
  );
  if (matchedCount < items.length) return reply.code(409).send({});
  const order = {
    user_id: customer,
    currency,
    total,
    total_minor: total,
    status: 'pending',
    created_at: now,
  };
  const history = [{ status: 'pending', at: now, note: null }];
  const settling = { stock: { phase: 'settling', until: now }, version: 1, updated_at: now };
  const event = { id: _id, subject: 'commerce.order.created', at: now, data: { ...order, id: _id, items } };
  await orders.updateOne(
    { _id, 'stock.phase': 'reserving' } as { _id: string },
    {
      $set: { ...order, history, ...settling },
      $unset: { deleted_at: '' },
      $push: { outbox: event },
    } as never,
  );
  void settle({ id: _id, ids });
  void empty(_id, isPublishing);
  return reply.code(201).send({ id: _id, ...order, items: lines, status_history: history });
}

for (const path of ['/commerce', '/publishing'])
  app.post(path, ({ body }: FastifyRequest, reply) => place(body as Body, path === '/publishing', reply));

await app.listen({ host: '127.0.0.1', port: Number(PORT) });
