// Reports in PDF of 10,000 products each, whose names take the longest to lay out, while others ask whether the process lives.
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '@gatehouse/core/ids';
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { databaseUri } from '../../src/database-uri.ts';
import type { Abuse, Target } from '../abuse.ts';

const PRODUCTS = 10_000;
const BATCH = 1000;
const NAMES = {
  arabic: (i: number) => `${i} ${'شاي أخضر من الصين '.repeat(12)}`.slice(0, 200),
  long: (i: number) => `${i}${'x'.repeat(200)}`.slice(0, 200),
};

async function fill(mongoUri: string): Promise<void> {
  const logger = createLogger({ name: 'bench', level: 'warn', readable: true });
  const database = createDatabase({ uri: databaseUri(mongoUri, 'commerce'), name: 'commerce', logger });
  await database.start();
  const products = database.connection.collection<{ _id: string }>('products');
  for (const [category, nameOf] of Object.entries(NAMES)) {
    for (let i = 0; i < PRODUCTS; i += BATCH) {
      await products.insertMany(
        Array.from({ length: BATCH }, (_, n) => productOf(nameOf(i + n), category, i + n)),
      );
    }
  }
  await database.stop();
}

/** As services/commerce stores them. */
function productOf(name: string, category: string, i: number) {
  const id = newId('prd');
  const at = new Date(Date.parse('2024-01-01T00:00:00Z') + i * 1000);
  return {
    ...{ _id: id, name, name_key: name, sku: null, sku_key: `\0${id}`, description: null, category },
    ...{ price: 12.5, price_minor: 1250, currency: 'EUR', stock: 5, status: 'active' },
    ...{ words: [], name_words: [], version: 1, created_at: at, updated_at: at },
  };
}

export async function prepare({ base, token, mongoUri }: Target): Promise<Abuse> {
  await fill(mongoUri);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return {
    others: { method: 'GET', path: '/health/live' },
    async attack() {
      const asked = Object.keys(NAMES).map(async (category) => {
        const body = JSON.stringify({ type: 'products', format: 'pdf', filters: { category } });
        const accepted = await fetch(`${base}/v2/reports/generate`, { method: 'POST', headers, body });
        const path = accepted.headers.get('location');
        for (;;) {
          const report = await (await fetch(base + path, { headers })).json();
          const { status, error } = report as { status: string; error: string | null };
          if (status === 'completed') return;
          if (status !== 'queued' && status !== 'running') throw new Error(`${status}: ${error}`);
          await sleep(200);
        }
      });
      await Promise.all(asked);
    },
  };
}
