import { IGNORABLE } from '@gatehouse/domain/folded-key';
import { anyCharacter } from '@gatehouse/testing/any-character';
import { repetitions } from '@gatehouse/testing/repetitions';
import fc from 'fast-check';
import t from 'tap';
import { FIELD_LIMITS, fieldProblems } from '../src/user-fields.ts';
import { keepsToOneScript } from '../src/username-scripts.ts';

// The published limits of fields against the rules: whatever one takes, the other takes.

type Limits = { minLength?: number; maxLength: number; pattern?: string };

function isPublished({ minLength = 0, maxLength, pattern = '' }: Limits, text: string): boolean {
  const { length } = [...text];
  return length >= minLength && length <= maxLength && new RegExp(pattern, 'u').test(text);
}

/** Characters that the rules tell apart, among any others. */
const character = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...'abcXYZ019._+-@ !#$%&\'*/=?^`{|}~"(),:;<>[]\\') },
  {
    weight: 2,
    arbitrary: fc.constantFrom('é', 'ß', 'Ж', '李', 'ا', '\u0301', '\u200d', '\u00ad', '\u2800', '\u202e'),
  },
  { weight: 1, arbitrary: fc.constantFrom('\u0000', '\n', '\u2028', '\u3000', '😀', '𝒳') },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 }) },
);
const words = fc.array(character, { maxLength: 12 }).map((parts) => parts.join(''));
const long = fc
  .tuple(fc.constantFrom('a', '😀', '𝒳'), fc.constantFrom(2, 3, 7, 8, 63, 64, 65, 200, 201, 254, 256, 257))
  .map(([unit, times]) => unit.repeat(times));
const label = fc.oneof(
  fc.constantFrom('example', 'org', 'a-b', '-a', 'a-', '', 'x'.repeat(63), 'x'.repeat(64)),
  words,
);
const local = fc.oneof(
  fc.constantFrom('ann', 'a.b', '.a', 'a.', 'a..b', '"a b"', 'x'.repeat(64), 'x'.repeat(65)),
  words,
);
const address = fc
  .tuple(local, fc.array(label, { minLength: 1, maxLength: 5 }))
  .map(([name, labels]) => `${name}@${labels.join('.')}`);

for (const field of ['username', 'email', 'password', 'name'] as const) {
  t.test(field, async (t) => {
    fc.assert(
      fc.property(fc.oneof(words, long, address), (text) => {
        // Other texts are refused before the rules are asked.
        fc.pre(text.isWellFormed() && !text.includes('\0'));
        const accepted = fieldProblems({ [field]: text }).length === 0;
        const published = isPublished(FIELD_LIMITS[field], text);
        // Keywords cannot say that a username keeps to one script.
        return accepted === (published && (field !== 'username' || keepsToOneScript(text)));
      }),
      { numRuns: repetitions(600) },
    );
    t.pass();
  });
}

t.test('the ignorable characters are those of Unicode', async (t) => {
  const written = new RegExp(`^[${IGNORABLE}]$`, 'u');
  const property = /^\p{Default_Ignorable_Code_Point}$/u;
  const different: number[] = [];
  for (let code = 0; code <= 0x10ffff; code += 1) {
    const character = String.fromCodePoint(code);
    if (written.test(character) !== property.test(character)) different.push(code);
  }
  t.same(different, []);
});
