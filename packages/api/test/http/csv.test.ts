import { anyCharacter } from '@gatehouse/testing/any-character';
import fc from 'fast-check';
import t from 'tap';
import { csvLines, guarded, unguarded } from '../../src/http/csv.ts';

/** Of what formulas and guards are made, more often than by chance. */
const unit = fc.oneof(fc.constantFrom(...`=+-@＝'";；\t\r\n \u200b\ufeffa1`), anyCharacter);

t.test('what was guarded is had back to the letter, however often it is guarded', async () => {
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 20 }), fc.nat(3), (text, times) => {
      let all = text;
      for (let i = 0; i < times; i += 1) all = guarded(all);
      for (let i = 0; i < times; i += 1) all = unguarded(all);
      return all === text;
    }),
    { numRuns: 20_000 },
  );
});

t.test('the guard removes its own apostrophes, and keeps those of the text', async (t) => {
  for (const [text, expected] of [
    ['=1', "'=1"],
    ["'=1", "''=1"],
    ['"\n=1', `'"\n'=1`],
    ['a;=1;+2', "a;'=1;'+2"],
    ["'tis", "'tis"],
    ['a=b - c', 'a=b - c'],
  ] as const) {
    t.equal(guarded(text), expected);
    t.equal(unguarded(expected), text);
  }
  t.equal(csvLines([['a', '=1', -1, null]]), "a,'=1,-1,\r\n", 'numbers are left alone');
});

t.test('the time does not grow with the square of the length', async (t) => {
  for (const long of ['\n', "'", ';', ' ;', '=', '"\t'].map((part) => part.repeat(500_000))) {
    const began = performance.now();
    unguarded(guarded(long));
    const ms = performance.now() - began;
    t.ok(ms < 3000, `${JSON.stringify(long.slice(0, 4))}: ${Math.round(ms)} ms`);
  }
});
