// What bench/reads.ts compares the service with: Fastify and the driver, which do the same with the database and
// nothing else. Listens on PORT, with the database of MONGODB_URI.
import type { StoredOf } from '@gatehouse/domain/fields';
import Fastify from 'fastify';
import mongoose from 'mongoose';
import { Type } from 'typebox';
import type { ITEM } from '../src/item.ts';

type ItemDocument = StoredOf<typeof ITEM>;

const { PORT = '', MONGODB_URI = '' } = process.env;
const client = await new mongoose.mongo.MongoClient(MONGODB_URI, { maxPoolSize: 50 }).connect();
const items = client.db('items').collection<ItemDocument>('items');
const app = Fastify();

const projection = { owner_id: 1, name: 1, value: 1, created_at: 1, version: 1, updated_at: 1 };
const Listed = Type.Object({ id: Type.String(), name: Type.String(), value: Type.Unknown() });
const Item = Type.Object({ ...Listed.properties, created_at: Type.String() });
const show = ({ _id, name, value, created_at }: ItemDocument) => ({
  id: _id,
  name,
  value: JSON.parse(value),
  created_at: created_at.toISOString(),
});

app.get<{ Params: { id: string } }>(
  '/items/:id',
  { schema: { response: { 200: Item } } },
  async (request, reply) => {
    const item = await items.findOne({ _id: request.params.id }, { projection });
    return item === null ? reply.code(404).send() : show(item);
  },
);

app.get('/items', { schema: { response: { 200: Type.Array(Listed) } } }, async () => {
  const found = await items.find({}, { projection }).sort({ _id: 1 }).limit(20).toArray();
  return found.map(show);
});

await app.listen({ host: '127.0.0.1', port: Number(PORT) });
