import { createTestIssuer } from '@gatehouse/testing/test-issuer';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import { ALL } from './build.ts';
import { megabytesOf, startCommerce } from './commerce-process.ts';
import { beginImport, drained, type ImportedLine, REFUSED_LINE } from './import-client.ts';

const issuer = await createTestIssuer(t, 'commerce');
const mongodbUri = await testDatabase(t);
const machine = await issuer.machine(ALL);
const commerce = await startCommerce(t, { issuer, mongodbUri });

const LINES = 10_000;
const TEA = { name: 'Green tea', price: 12.5, currency: 'USD' };

/** Imports these lines, and checks that each is answered in its place. Returns how often which answer came, and the last. */
async function run(lines: Iterable<string>) {
  const { outgoing, responses } = beginImport(commerce.base, machine);
  outgoing.on('error', () => {});
  const counts: Record<string, number> = {};
  let last: ImportedLine | undefined;
  let memory = 0;
  const sending = (async () => {
    for (const line of lines) {
      if (outgoing.destroyed) return;
      if (!outgoing.write(line)) await drained(outgoing);
    }
    outgoing.end();
  })();
  for (let n = 1; ; n += 1) {
    const { value, done } = await responses.next();
    if (done === true) break;
    last = value as ImportedLine;
    if (last.line !== n) throw new Error(`line ${last.line} was answered in place ${n}`);
    counts[last.status] = (counts[last.status] ?? 0) + 1;
    if (last.status === 'stopped') break;
    if (n % 100 === 0) memory = Math.max(memory, megabytesOf(commerce));
  }
  outgoing.destroy();
  await sending;
  return { counts, last, memory };
}

t.test('200 MB in ten thousand lines, in constant memory; one line more ends it', async (t) => {
  await run([REFUSED_LINE]);
  const before = megabytesOf(commerce);
  const begin = performance.now();
  const { counts, last, memory } = await run(Array.from({ length: LINES + 1 }, () => REFUSED_LINE));
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  t.comment(`${seconds} s; memory ${before.toFixed(0)} MB before, ${memory.toFixed(0)} MB at most`);
  t.same(counts, { refused: LINES, stopped: 1 });
  t.match(last, { line: LINES + 1, error: { code: 'payload_too_large', message: /at most 10000 lines/ } });
  t.ok(memory < before + 100);
});

t.test('ten thousand products, created and updated', async (t) => {
  for (const status of ['created', 'updated']) {
    const lines = Array.from({ length: LINES }, (_, i) => `${JSON.stringify({ ...TEA, sku: `sku-${i}` })}\n`);
    const begin = performance.now();
    let done = 0;
    let requests = 0;
    let most = 0;
    // A slow machine needs several requests: each says where it stopped.
    for (; done < LINES && requests < 5; requests += 1) {
      const { counts, last, memory } = await run(lines.slice(done));
      const { [status]: written = 0, stopped = 0, ...others } = counts;
      t.same(others, {});
      if (stopped > 0) t.match(last, { error: { code: 'request_timeout' } });
      done += written;
      most = Math.max(most, memory);
    }
    t.equal(done, LINES);
    const seconds = ((performance.now() - begin) / 1000).toFixed(1);
    t.comment(`${status} in ${seconds} s, ${requests} requests; memory ${most.toFixed(0)} MB at most`);
  }
});
