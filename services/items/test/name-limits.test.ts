import { anyCharacter } from '@gatehouse/testing/any-character';
import fc from 'fast-check';
import t from 'tap';
import { itemProblems, NAME_LIMITS } from '../src/item.ts';

t.test('the published limits of a name against the rule: whatever one takes, the other takes', async (t) => {
  const { minLength, maxLength, pattern } = NAME_LIMITS;
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 4 }),
    fc.constantFrom('', ' ', '\t\n', '\u00a0\ufeff', '\u3000', 'a', ' a '),
    fc.constantFrom(199, 200, 201).map((length) => '😀'.repeat(length)),
  );
  fc.assert(
    fc.property(text, (name) => {
      fc.pre(!name.includes('\0'));
      const { length } = [...name];
      const published = length >= minLength && length <= maxLength && new RegExp(pattern, 'u').test(name);
      return published === (itemProblems({ name }).length === 0);
    }),
  );
  t.pass();
});
