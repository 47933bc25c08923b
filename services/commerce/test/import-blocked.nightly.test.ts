import t from 'tap';
import { ALL, build } from './build.ts';
import { beginImport } from './import-client.ts';

const LINES = 2000;
/** Longer than any time limit of the database's driver (packages/data/src/database.ts). */
const BLOCKED_MS = 12_000;

t.test('lines wait while the process cannot reach the database in time', async (t) => {
  const { issuer, base, call } = await build(t);
  const machine = await issuer.machine(ALL);
  const { outgoing, responses } = beginImport(base, machine);
  outgoing.end(
    Array.from({ length: LINES }, (_, i) =>
      JSON.stringify({ name: `Tea ${i}`, price: 1, currency: 'EUR', ...(i % 2 ? { sku: `T-${i}` } : {}) }),
    ).join('\n'),
  );
  const counts: Record<string, number> = {};
  const errors = new Set<string | undefined>();
  for (let n = 0; ; n += 1) {
    const { value, done } = await responses.next();
    if (done === true) break;
    counts[value.status] = (counts[value.status] ?? 0) + 1;
    errors.add(value.error?.message);
    // As a report beside it did, with everything else in this process.
    if (n === 40) for (const begin = performance.now(); performance.now() - begin < BLOCKED_MS; );
  }
  t.same(counts, { created: LINES }, [...errors].join());
  const { body } = await call('GET', '/v2/products?limit=1', machine);
  t.equal(body.meta.total, LINES, 'no line was written twice');
});
