import { asciiDomain } from '@gatehouse/domain/domain-name';
import { IGNORABLE } from '@gatehouse/domain/folded-key';
import { anyCharacter } from '@gatehouse/testing/any-character';
import { repetitions } from '@gatehouse/testing/repetitions';
import fc from 'fast-check';
import t from 'tap';
import { FIELD_LIMITS, fieldProblems } from '../src/user-fields.ts';
import { keepsToOneScript } from '../src/username-scripts.ts';

t.test('the values that the fields accept', async (t) => {
  const good = [
    { name: 'A' },
    { name: 'Ann-Marie O’Neil 3rd' },
    { name: '李小龍' },
    { name: 'می\u200cخواهم' },
    { name: '😀' },
    { name: '😀'.repeat(200) },
    { firstName: 'Ann', lastName: 'Other' },
    { phone: '+49 (0)30 123-45.67' },
    { phone: '0301234567' },
    { phone: '+123456789012345' },
    ...['en', 'de-AT', 'zh-Hant-TW', 'sr-Latn'].map((locale) => ({ locale })),
    ...['UTC', 'Europe/Berlin', 'Asia/Kolkata'].map((zoneinfo) => ({ zoneinfo })),
    { picture: 'https://example.org/a.png?x=1#y' },
    { picture: 'http://localhost:3000/a.png' },
    { picture: `https://example.org/${'a'.repeat(1980)}` },
    { username: 'abc' },
    { username: 'z'.repeat(64) },
    { username: '李小龍' },
    { email: "o'neil+tag@sub.example.org" },
    { email: '$username@example.org' },
    { password: '8 things' },
    { password: '🔑🗝🔒🔓🔐🚪🧱🏰' },
    { password: 'x'.repeat(256) },
  ];
  for (const fields of good) t.same(fieldProblems(fields), [], JSON.stringify(fields).slice(0, 60));
  const bad: [string, string][] = [
    ['name', ''],
    ['name', ' '],
    ['name', '\u200d\u3164\u2800'],
    ['name', 'a\tb'],
    ['name', 'a\nb'],
    ['name', 'a\u2028b'],
    ['name', 'a\u0085b'],
    ['name', '\u202eevil'],
    ['name', 'x'.repeat(201)],
    ['firstName', '\u200b'],
    ['lastName', 'a\u0007'],
    ['phone', 'abc'],
    ['phone', '1234'],
    ['phone', '+1234567890123456'],
    ['phone', '12345\n'],
    ['phone', `+${' '.repeat(1000)}12345`],
    ...['', 'e', 'en_US', 'German', 'de-AT,en', `en-${'abcdefgh-'.repeat(4)}x`, 'en\n'].map(
      (tag): [string, string] => ['locale', tag],
    ),
    ...['', 'Berlin', '+02:00', 'Europe/Berlin ', 'Europe/Berlin\n'].map((zone): [string, string] => [
      'zoneinfo',
      zone,
    ]),
    ['picture', 'http://example.org/a.png'],
    ['picture', 'javascript:alert(1)'],
    ['picture', 'data:image/png;base64,AA'],
    ['picture', '//example.org/a.png'],
    ['picture', 'https://'],
    ['picture', 'https://user:secret@example.org/'],
    ['picture', 'https://example.org/a"onerror="x'],
    ['picture', ' https://example.org/'],
    ['picture', `https://example.org/${'a'.repeat(1981)}`],
    ['username', 'ab'],
    ['username', 'a'.repeat(65)],
    ['username', 'a@example.org'],
    ['username', 'a b c'],
    ['username', 'a\u0007bc'],
    ['username', 'alice\ufe0f'],
    ['username', 'ali\u034fce'],
    ['username', '\u3164\u3164\u3164'],
    ['username', '...'],
    ['email', 'al\u034fice@example.org'],
    ['email', 'example.org'],
    ['email', 'a@'],
    ['email', 'a@localhost'],
    ['email', 'a@xn--a.example'],
    ['email', 'a@127.0.0.1'],
    ['email', `a@${'ü'.repeat(60)}.example`],
    ['email', 'a@example.org.'],
    ['email', 'a@b@example.org'],
    ['email', 'a@example.org\r\nBcc: b@example.org'],
    ['email', `${'a'.repeat(60)}@${['b', 'c', 'd'].map((x) => x.repeat(60)).join('.')}.${'e'.repeat(11)}`],
    ['password', '1234567'],
    ['password', 'a'.repeat(257)],
    ['password', 'a'.repeat(10_000)],
  ];
  for (const [field, value] of bad) {
    const name = { firstName: 'first_name', lastName: 'last_name' }[field] ?? field;
    const label = `${field} ${encodeURIComponent(value).slice(0, 40)}`;
    t.match(fieldProblems({ [field]: value }), [{ field: name, message: String }], label);
  }
  for (const [field, value] of Object.entries({ role: 'root', status: 'gone' }))
    t.match(fieldProblems({ [field]: value as never }), [{ field, message: /^must be one of/ }]);
});

t.test('usernames keep to one script, as far as UTS #39 has it moderately restrictive', async (t) => {
  const cases: [string, boolean][] = [
    ['ann.lee-2', true],
    ['zoë_müller', true],
    ['иван.2', true],
    ['σίσυφος', true],
    ['ann李小龍', true],
    ['suzuki鈴木ジロー', true],
    ['kim김철수', true],
    ['annराम', true],
    ['עמית.5', true],
    ['аnn', false], // The first letter is Cyrillic.
    ['ıвaн', false],
    ['αlpha', false],
    ['рауpal', false],
    ['𝛼лфа', false], // A mathematical alpha.
    ['カ가나', false],
    ['עמיתアミト', false],
    ['ᏣᎳᎩ', false], // Cherokee is not in common use today.
  ];
  for (const [name, isAllowed] of cases) {
    t.same(
      fieldProblems({ username: name }).map(({ field }) => field),
      isAllowed ? [] : ['username'],
      name,
    );
  }
});

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

const hasDomain = (text: string) => asciiDomain(text.split('@')[1] ?? '') !== undefined;

for (const field of ['username', 'email', 'password', 'name'] as const) {
  t.test(field, async (t) => {
    fc.assert(
      fc.property(fc.oneof(words, long, address), (text) => {
        // Other texts are refused before the rules are asked.
        fc.pre(text.isWellFormed() && !text.includes('\0'));
        const accepted = fieldProblems({ [field]: text }).length === 0;
        const published = isPublished(FIELD_LIMITS[field], text);
        // Keywords cannot say that a username keeps to one script, nor that a domain has A-labels.
        const isSaid = { username: keepsToOneScript, email: hasDomain }[field as string] ?? (() => true);
        return accepted === (published && isSaid(text));
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
