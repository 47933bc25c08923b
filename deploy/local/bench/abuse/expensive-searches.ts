// One person's searches by a frequent beginning of a word and filters that few products match, on 20 connections, while
// others place orders.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '@gatehouse/core/ids';
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { databaseUri } from '../../src/database-uri.ts';
import { createUser } from '../../test/gatehouse.ts';
import type { Abuse, Target } from '../abuse.ts';

const PRODUCTS = 240_000;
const BATCH = 5000;
const CONNECTIONS = 20;
const PAUSE_MS = 333;
const ATTACK_MS = 30_000;
const WORDS = ['blue', 'bread', 'brown', 'bag', 'bell', 'bottle', 'cup', 'tea', 'lamp', 'desk'];

/** Copies of a product that the API has made, with other words and prices. */
async function fill({ mongoUri }: Target, productId: string): Promise<void> {
  const logger = createLogger({ name: 'bench', level: 'warn', readable: true });
  const database = createDatabase({ uri: databaseUri(mongoUri, 'commerce'), name: 'commerce', logger });
  await database.start();
  const products = database.connection.collection<{ _id: string }>('products');
  const { outbox: _, ...template } = { outbox: [], ...(await products.findOne({ _id: productId })) };
  for (let i = 0; i < PRODUCTS; i += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, n) => {
      const number = i + n;
      const words = [WORDS[number % 10] ?? '', WORDS[(number * 7 + 3) % 10] ?? '', `n${number}`];
      const name = words.join(' ');
      const [_id, price] = [newId('prd'), ((number * 7919) % 100_000) / 100];
      const key = { sku: null, sku_key: `\0${_id}`, name, name_key: name };
      return { ...template, _id, ...key, words, name_words: words, price, price_minor: price * 100 };
    });
    await products.insertMany(batch, { ordered: false, writeConcern: { w: 1, journal: false } });
  }
  await database.stop();
}

export async function prepare(target: Target): Promise<Abuse> {
  const { base, token } = target;
  const post = async (path: string, body: object): Promise<Record<string, string>> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) });
    assert(response.ok, `${path} ${response.status}`);
    return (await response.json()) as Record<string, string>;
  };
  const product = { name: 'Ordered', price: 1, currency: 'EUR', stock: 1_000_000 };
  const { id: productId = '' } = await post('/v2/products', product);
  const { id: userId } = await createUser(base, token, 'customer');
  await createUser(base, token, 'searcher');
  const login = await post('/api/v1/auth/login', { username: 'searcher', password: 'correct horse' });
  await fill(target, productId);
  const headers = { authorization: `Bearer ${login.token}` };

  /** Searches one after the other, each with another price, until the time is over. */
  async function searches(until: number): Promise<void> {
    while (performance.now() < until) {
      const price = (990 + Math.random() * 10).toFixed(2);
      const query = `q=b&filter[price][gt]=${price}&filter[currency]=EUR`;
      const response = await fetch(`${base}/v2/products/search?${query}`, { headers });
      await response.arrayBuffer();
      assert([200, 429, 503].includes(response.status), `a search was answered ${response.status}`);
      await sleep(PAUSE_MS);
    }
  }
  const items = [{ product_id: productId, quantity: 1 }];
  return {
    others: { method: 'POST', path: '/v2/orders', body: { user_id: userId, items, currency: 'EUR' } },
    async attack() {
      const until = performance.now() + ATTACK_MS;
      await Promise.all(Array.from({ length: CONNECTIONS }, () => searches(until)));
    },
  };
}
