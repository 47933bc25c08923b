import { CURRENCIES, decimalsOf } from '@gatehouse/domain/money';
import { productProblems } from '@gatehouse/domain/product-fields';
import { anyCharacter } from '@gatehouse/testing/any-character';
import fc from 'fast-check';
import t from 'tap';
import { textLimits } from '../src/profiles/product-resource.ts';

// The published limits of products against the rules: whatever one takes, the other takes.

t.test('texts', async (t) => {
  for (const field of ['name', 'description', 'category', 'sku'] as const) {
    const { minLength, maxLength, pattern } = textLimits(field);
    const text = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 4 }),
      fc.constantFrom(
        '',
        ' ',
        '\t\n',
        '\u00a0\ufeff',
        '\u3000',
        'a',
        ' a ',
        '\u200b',
        '\u00ad \u3164',
        '\u200ba',
      ),
      fc.constantFrom('\u{e0001}', '\u{1d173}', '\ufe0f', '\u2800'),
      fc.constantFrom(-1, 0, 1).map((more) => '😀'.repeat(maxLength + more)),
    );
    fc.assert(
      fc.property(text, (value) => {
        fc.pre(!value.includes('\0'));
        const { length } = [...value];
        const published = length >= minLength && length <= maxLength && new RegExp(pattern, 'u').test(value);
        return published === (productProblems({ [field]: value }).length === 0);
      }),
    );
    t.pass(field);
  }
});

t.test('currencies', async (t) => {
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  const codes = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => a + b + c)));
  t.same(
    codes.filter((code) => decimalsOf(code) !== undefined),
    CURRENCIES,
  );
});
