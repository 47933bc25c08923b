// What bench/search.ts compares the service with: Fastify and the driver, which find products by one word of an index,
// and nothing else. Listens on PORT, with the database of MONGODB_URI.
import Fastify from 'fastify';
import mongoose from 'mongoose';
import { PRODUCT_FIELDS, type ProductDocument } from '../src/store/product-document.ts';

const { PORT = '', MONGODB_URI = '' } = process.env;
const client = await new mongoose.mongo.MongoClient(MONGODB_URI, { maxPoolSize: 50 }).connect();
const products = client.db('commerce').collection<ProductDocument>('products');
const app = Fastify();

app.get<{ Querystring: { q: string } }>('/commerce', async ({ query }) =>
  products
    .find({ words: query.q ?? 'w1' }, { projection: PRODUCT_FIELDS })
    .limit(20)
    .toArray(),
);

await app.listen({ host: '127.0.0.1', port: Number(PORT) });
