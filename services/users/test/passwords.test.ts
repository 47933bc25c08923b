import { verify } from '@node-rs/argon2';
import t from 'tap';
import { createPasswords } from '../src/passwords.ts';

t.test('argon2id with the parameters of the design', async (t) => {
  const passwords = createPasswords({ concurrency: 1 });
  const hash = await passwords.hash('correct horse');
  t.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  t.ok(await verify(hash, 'correct horse'));
  t.notOk(await verify(hash, 'wrong horse'));
  t.not(await passwords.hash('correct horse'), hash, 'salted');
});

t.test('the same password in any composition of its accents', async (t) => {
  const passwords = createPasswords({ concurrency: 1 });
  t.ok(await verify(await passwords.hash('gru\u0308n-gru\u0308n'), 'gr\u00fcn-gr\u00fcn'));
});

t.test(
  'a password is checked in any form of its accents, and against nothing as against a hash',
  async (t) => {
    const passwords = createPasswords({ concurrency: 1 });
    const stored = await passwords.hash('gr\u00fcn-gr\u00fcn');
    t.equal(await passwords.verify(stored, 'gru\u0308n-gru\u0308n'), true);
    t.equal(await passwords.verify(stored, 'grun-grun'), false);
    for (const password of ['', 'anything', '\0'.repeat(32)]) {
      t.equal(await passwords.verify(null, password), false);
    }
  },
);

t.test('hashing and checking share the limit', async (t) => {
  const passwords = createPasswords({ concurrency: 1, maxWaiting: 2 });
  const stored = await passwords.hash('correct horse');
  const results = await Promise.allSettled([
    passwords.hash('one'),
    passwords.verify(stored, 'correct horse'),
    passwords.verify(null, 'two'),
    passwords.verify(stored, 'correct horse'),
    passwords.hash('three'),
  ]);
  t.match(
    results.map((result) => (result.status === 'rejected' ? result.reason.kind : 'done')),
    ['done', 'done', 'done', 'unavailable', 'unavailable'],
  );
});

t.test('at most `concurrency` run at a time, and too many waiting is an error', async (t) => {
  const passwords = createPasswords({ concurrency: 1 });
  const [begin, before] = [performance.now(), process.cpuUsage()];
  await Promise.all(Array.from({ length: 8 }, () => passwords.hash('eight')));
  const { user, system } = process.cpuUsage(before);
  const processors = (user + system) / 1000 / (performance.now() - begin);
  // However busy the machine is, one at a time cannot use more than one.
  t.ok(processors < 1.5, `${processors.toFixed(2)} processors`);

  const few = createPasswords({ concurrency: 1, maxWaiting: 5 });
  const flood = await Promise.allSettled(Array.from({ length: 10 }, () => few.hash('flood')));
  const refused = flood.filter(({ status }) => status === 'rejected');
  t.equal(refused.length, 4, 'one runs, five wait');
  t.match(refused[0], { reason: { kind: 'unavailable' } });
});
