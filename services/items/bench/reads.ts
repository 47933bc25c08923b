// `npm run bench:reads:items [-- ITEMS [ROUNDS]]`: what the items service adds to a request, beside bare-server.ts, with
// so many items (20,000 unless told).
import { newId } from '@gatehouse/core/ids';
import type { StoredOf } from '@gatehouse/domain/fields';
import { type AuthorizedCall, benchBeside } from '@gatehouse/testing/bench-beside';
import mongoose from 'mongoose';
import type { ITEM } from '../src/item.ts';

type ItemDocument = StoredOf<typeof ITEM>;

const total = Number(process.argv[2] ?? 20_000);
const rounds = Number(process.argv[3] ?? 15);
const ids: string[] = [];

const bench = {
  name: 'items',
  main: new URL('../src/service.ts', import.meta.url).pathname,
  bare: new URL('./bare-server.ts', import.meta.url).pathname,
  rounds,
  scope: 'read:data write:data',
  title: `${total} items`,
  async fill(uri: string) {
    const client = await new mongoose.mongo.MongoClient(uri).connect();
    const items = Array.from({ length: total }, (_, i): ItemDocument => {
      const at = new Date(Date.parse('2024-01-01T00:00:00Z') + i * 1000);
      const value = JSON.stringify({ colours: ['red', 'blue'], price: i / 100, tags: { a: i } });
      const id = newId('itm');
      ids.push(id);
      return {
        _id: id,
        owner_id: null,
        name: `Item ${i}`,
        value,
        version: 1,
        created_at: at,
        updated_at: at,
      };
    });
    await client.db('items').collection<ItemDocument>('items').insertMany(items, { ordered: false });
    await client.close();
  },
};

await benchBeside(bench, async ({ service, bare, ask, compare }) => {
  const get = (path: string): AuthorizedCall => ({ method: 'GET', path, status: 200 });
  const PATH = '/api/v1/items';
  const someItem = () => ids[Math.floor(Math.random() * ids.length)];
  const [id] = ids;
  const responses = await Promise.all([ask(bare, get(`/items/${id}`)), ask(service, get(`${PATH}/${id}`))]);
  if (responses[0] !== responses[1]) throw new Error(`they answer differently: ${responses}`);
  const { links } = JSON.parse(await ask(service, get(`${PATH}?cursor=`)));

  await compare({
    'bare read': { server: bare, next: () => get(`/items/${someItem()}`) },
    read: { server: service, next: () => get(`${PATH}/${someItem()}`) },
  });
  await compare({
    'bare list': { server: bare, next: () => get('/items') },
    'list by offset': { server: service, next: () => get(`${PATH}?offset=0`) },
    'list by cursor': { server: service, next: () => get(links.next) },
  });
});
