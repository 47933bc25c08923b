// What bench/orders.ts compares the service with: Fastify and the driver, which place orders by the same requests to the
// database in the same order, without credentials, checks and events. Listens on PORT, with the MongoDB of MONGODB_URI.

import { createBatches } from '@gatehouse/kit/batches';
import { newId } from '@gatehouse/kit/ids';
import Fastify from 'fastify';
import mongoose from 'mongoose';
import { PRODUCT_FIELDS, type ProductDocument } from '../src/store/product-document.ts';

type Items = { product_id: string; quantity: number }[];

const { PORT = '', MONGODB_URI = '' } = process.env;
const options = { maxPoolSize: 50, writeConcern: { w: 'majority', journal: true } } as const;
const client = await new mongoose.mongo.MongoClient(MONGODB_URI, options).connect();
const products = client.db('bare').collection<ProductDocument>('products');
const orders = client.db('bare').collection<{ _id: string }>('orders');
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

async function empty(_id: string): Promise<void> {
  await orders.findOne({ _id }, { projection: { outbox: 1 } });
  const pull = { $pull: { outbox: { id: _id } } };
  await orders.findOneAndUpdate({ _id }, pull as never, { projection: { outbox: 1 } });
}

app.get('/commerce', async () => ({}));
app.post<{ Body: { items: Items; currency: string } }>('/commerce', async ({ body }, reply) => {
  const { items, currency } = body;
  const ids = items.map(({ product_id }) => product_id);
  const found = await products
    .find({ _id: { $in: ids }, name_key: { $gt: '' } }, { projection: PRODUCT_FIELDS })
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
    items.map(({ product_id, quantity }) => ({
      updateOne: {
        filter: {
          ...{ _id: product_id, name_key: { $gt: '' }, status: 'active', stock: { $gte: quantity } },
          'reservations.order_id': { $ne: _id } as never,
        },
        update: {
          $inc: { stock: -quantity, version: 1 },
          $max: { updated_at: now },
          $push: { reservations: { order_id: _id, quantity, at: now } } as never,
        },
      },
    })),
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
  await orders.updateOne({ _id }, {
    $set: { ...order, history, ...settling },
    $unset: { deleted_at: '' },
    $push: { outbox: event },
  } as never);
  void settle({ id: _id, ids });
  void empty(_id);
  return reply.code(201).send({ id: _id, ...order, items: lines, status_history: history });
});

await app.listen({ host: '127.0.0.1', port: Number(PORT) });
