import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { readMasterKeys } from '../src/data-dir.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-data-'));
t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
const file = join(dataDir, 'master.key');
const [a, b] = ['ab'.repeat(32), 'cd'.repeat(32)];

t.test('the master key is made once; a new one can be put before it', async (t) => {
  const [made] = await readMasterKeys(dataDir);
  t.same(await readMasterKeys(dataDir), [made]);
  writeFileSync(file, `${a}, ${b}\n`);
  t.same(await readMasterKeys(dataDir), [Buffer.from(a, 'hex'), Buffer.from(b, 'hex')]);
  for (const text of ['', `${a},`, `${a},short`, a.slice(2)]) {
    writeFileSync(file, text);
    await t.rejects(readMasterKeys(dataDir), /does not hold a key/, text);
  }
});
