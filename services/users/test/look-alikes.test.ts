import { foldedKey } from '@gatehouse/domain/folded-key';
import { anyCharacter } from '@gatehouse/testing/any-character';
import fc from 'fast-check';
import t from 'tap';
import { emailLookAlike, usernameLookAlike, usernameLookAlikes } from '../src/look-alikes/look-alikes.ts';

t.test('names that look alike have one key (UTS #39 §4)', async (t) => {
  for (const [a, b] of [
    ['admın', 'ADMIN'],
    ['tеsto', 'testo'],
    ['ѕсоре', 'scope'],
    ['paypa1', 'paypal'],
    ['g00gle', 'Google'],
    ['rnodern', 'modern'],
    ['ᎪᎠᎷin', 'admin'],
    ['ロ', '口'],
    ['ş', 'ș'],
  ] as const) {
    t.equal(usernameLookAlike(a), usernameLookAlike(b), `${a} ${b}`);
    t.not(foldedKey(a), foldedKey(b));
  }
  for (const [a, b] of ['caroI carol', 'BiIl Bill', 'lan Ian', 'ADMlN ADMIN', 'admın ADMIN'].map((pair) =>
    pair.split(' '),
  )) {
    const [first = [], second = []] = [a, b].map((it) => usernameLookAlikes(it ?? ''));
    t.ok(
      first.some((key) => second.includes(key)),
      `${a} ${b}`,
    );
  }
  for (const [a, b] of ['anna ana', 'müller muller', 'e é', 'strasse straBe'].map((pair) => pair.split(' ')))
    t.not(usernameLookAlike(a ?? ''), usernameLookAlike(b ?? ''), `${a} ${b}`);
});

t.test('addresses in ASCII look like no others, and domains are not compared by looks', async (t) => {
  t.equal(emailLookAlike('Tеsto@Bücher.example'), 'testo@xn--bcher-kva.example');
  t.equal(emailLookAlike('tеm.1@example.org'), emailLookAlike('tem.1@example.org'));
  t.not(emailLookAlike('tom1@example.org'), emailLookAlike('toml@example.org'));
  t.not(emailLookAlike('a@ехаmple.org'), emailLookAlike('a@example.org'));
});

t.test('a key is its own', async (t) => {
  const text = fc.string({ unit: anyCharacter });
  fc.assert(fc.property(text, (it) => usernameLookAlike(usernameLookAlike(it)) === usernameLookAlike(it)));
  t.pass();
});
