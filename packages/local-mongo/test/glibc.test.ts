import t from 'tap';
import { glibcVersion, isAtLeast } from '../src/providers/embedded.ts';

t.test('versions are compared by number', async (t) => {
  t.ok(isAtLeast('2.38', '2.38'));
  t.ok(isAtLeast('2.100', '2.38'));
  t.ok(isAtLeast('3.0', '2.38'));
  t.notOk(isAtLeast('2.4', '2.38'));
  t.notOk(isAtLeast('2.36', '2.38'));
});

t.test('the version in use, where there is a GNU C library', async (t) => {
  t.match(glibcVersion() ?? '2.0', /^2\.\d+$/);
});
