import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import t from 'tap';
import { installPackage, runUnitTests } from './python.ts';

const VECTORS = resolve(import.meta.dirname, '../../verify/vectors');
const FILES = ['vectors_test.py', 'feed_test.py', 'reports_test.py', 'tokens_test.py', 'api_keys_test.py'];

const installed = installPackage(t);
t.test('the Python package', 'reason' in installed ? { skip: installed.reason } : {}, async (t) => {
  if ('reason' in installed) return;
  const files = FILES.filter((file) => file !== 'vectors_test.py' || existsSync(VECTORS));
  const results = await Promise.all(files.map((file) => runUnitTests(installed.python, file)));
  for (const [index, { passed, output }] of results.entries()) t.ok(passed, `${files[index]}: ${output}`);
});
