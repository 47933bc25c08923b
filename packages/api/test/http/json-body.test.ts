import { isStorable, JsonText, parseJsonBody } from '@gatehouse/api/http/json-body';
import t from 'tap';

const parse = (text: string) => parseJsonBody(Buffer.from(text));

const GOOD: [text: string, expected: unknown][] = [
  ['{"a":[1,"b",null,true,{}]}', { a: [1, 'b', null, true, {}] }],
  [' \n{ "a" : 1 }\t', { a: 1 }],
  ['"text"', 'text'],
  ['null', null],
  ['0', 0],
  // RFC 8259 §8.1: a parser may ignore a byte order mark.
  ['\ufeff{"a":1}', { a: 1 }],
  ['{"a":"ä€😀","\u4e2d":"\u0085"}', { a: 'ä€😀', 中: '\u0085' }],
  ['{"a":"\\ud83d\\ude00"}', { a: '😀' }],
  ['{"a":"\\u0001\\u000a"}', { a: '\u0001\n' }],
  ['{"a":"\\\\u0000 \\\\ud800"}', { a: '\\u0000 \\ud800' }],
  ['{"a":1,"a":2}', { a: 2 }],
  ['{"constructor":1,"prototype":2}', { constructor: 1, prototype: 2 }],
  ['["__proto__","constructor"]', ['__proto__', 'constructor']],
  ['-0', -0],
  ['9007199254740993', 9007199254740992],
  ['1e400', Number.POSITIVE_INFINITY],
  [`1${'0'.repeat(400)}`, Number.POSITIVE_INFINITY],
  ['1e-400', 0],
];

t.test('JSON', async (t) => {
  t.equal(parseJsonBody(Buffer.alloc(0)), undefined, 'an empty body is none');
  for (const [text, expected] of GOOD) t.strictSame(parse(text), expected, text.slice(0, 40));
});

const NOT_JSON = [
  ' ',
  '{',
  '{"a":1}}',
  '[1,]',
  "{'a':1}",
  '{a:1}',
  'undefined',
  'NaN',
  '01',
  '"\u0001"',
  '"\\x"',
  '"\\u12"',
  '// a comment',
  '\ufeff',
  // What changes objects from which it is copied.
  '{"__proto__":{"a":1}}',
  '{"a":[{"__proto__":null}]}',
  '{"\\u005f_proto__":1}',
  '{"_\\u005fproto_\\u005F":1}',
  '{"constructor":{"prototype":{"a":1}}}',
  '{"a":{"\\u0063onstructor":{"prototype":1}}}',
];

t.test('invalid and dangerous JSON', async (t) => {
  for (const text of NOT_JSON) {
    t.throws(
      () => parse(text),
      { name: 'ServiceError', kind: 'invalid', message: 'The body is not valid JSON.' },
      text,
    );
  }
  t.equal(Reflect.get({}, 'a'), undefined);
});

const NOT_UTF8: [label: string, bytes: number[]][] = [
  ['a byte that does not occur', [0x22, 0xff, 0x22]],
  ['half a character', [0x22, 0xc3, 0x22]],
  ['a character cut by the end', [0x22, 0xe2, 0x82]],
  ['half a surrogate pair', [0x22, 0xed, 0xa0, 0x80, 0x22]],
  ['a longer form than needed', [0x22, 0xc0, 0x80, 0x22]],
  ['latin1', [...Buffer.from('"ä"', 'latin1')]],
  ['UTF-16 with its mark', [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]],
];

t.test('invalid UTF-8', async (t) => {
  const refused = { name: 'ServiceError', kind: 'invalid', message: 'The body is not valid UTF-8.' };
  for (const [label, bytes] of NOT_UTF8) t.throws(() => parseJsonBody(Buffer.from(bytes)), refused, label);
});

const UNSTORABLE = [
  '{"a":"\\u0000"}',
  '"\\u0000"',
  '{"\\u0000":1}',
  '{"a":{"b\\u0000c":1}}',
  '[[["x\\u0000"]]]',
  '{"a":"\\ud800"}',
  '{"a":"\\udc00"}',
  '{"a":"\\ude00\\ud83d"}',
  '{"a":"\\ud83d x"}',
  '{"\\udfff":1}',
  '[{"a":[{"\\uD800":null}]}]',
];

t.test('a text that cannot be stored', async (t) => {
  for (const text of UNSTORABLE) {
    t.throws(() => parse(text), { name: 'ServiceError', kind: 'invalid', message: /NUL.+surrogate/ }, text);
  }
});

t.test('isStorable', async (t) => {
  for (const text of ['', 'a', '😀', '\u0001', '\uffff']) t.ok(isStorable(text), JSON.stringify(text));
  for (const text of ['\0', 'a\0b', '\ud800', '\udc00a']) t.notOk(isStorable(text), JSON.stringify(text));
});

const DEPTH = 100_000;
const nested = (open: string, inner: string, close: string) =>
  open.repeat(DEPTH) + inner + close.repeat(DEPTH);

const DEEP: [label: string, text: string][] = [
  ['lists', nested('[', '', ']')],
  ['lists that do not end', '['.repeat(DEPTH)],
  ['objects', nested('{"a":', '1', '}')],
  ['an escape in them', nested('[', '"\\u0041"', ']')],
  ['escaped keys in them', nested('{"\\u0041":', '1', '}')],
  ['__proto__ in them', nested('[', '{"__proto__":1}', ']')],
];

t.test('deeply nested bodies are parsed or refused, without a fault', async (t) => {
  for (const [label, text] of DEEP) {
    try {
      parse(text);
      t.pass(`${label}: parsed`);
    } catch (error) {
      t.match(error, { name: 'ServiceError', kind: 'invalid' }, `${label}: refused`);
    }
  }
});

t.test('one member is kept as the text that was sent', async (t) => {
  const kept = (text: string) => parseJsonBody(Buffer.from(text), 'value') as Record<string, unknown>;
  for (const value of [
    'null',
    '12345678901234567890.10',
    '1e400',
    '-0',
    '""',
    '{"b":1,"a":2,"2":3,"1":4}',
    '{"":null,"$set":{"a.b":1},"a":1,"a":2}',
    '{"__proto__":{"a":1},"constructor":{"prototype":1}}',
    '["\\u0000","\\ud800","ä€😀",[ null , {} ]]',
  ]) {
    t.strictSame(kept(`{"name":"a","value":${value}}`), { name: 'a', value: new JsonText(value) }, value);
  }
  t.strictSame(kept('\ufeff{ "value" : 1 , "n" : 2 }'), { n: 2, value: new JsonText('1') });
  t.strictSame(kept('{"value":1,"v\\u0061lue":2}'), { value: new JsonText('2') }, 'the last of two counts');
  t.strictSame(kept('{"a":{"value":1}}'), { a: { value: 1 } }, 'a member of a member is none');
  for (const text of ['[1]', '"value"', 'null']) t.strictSame(kept(text), JSON.parse(text), text);
  const deep = (levels: number) => `{"value":${'['.repeat(levels)}${']'.repeat(levels)}}`;
  t.ok(kept(deep(63)));
  t.throws(() => kept(deep(64)), { kind: 'invalid', message: /more than 64 levels/ });
  const hidden = `{"value":{"a":${'['.repeat(3000)}${']'.repeat(3000)},"a":1}}`;
  for (const text of [hidden, deep(30_000), `{"value":${'['.repeat(9000)}${']'.repeat(9000)},"value":1}`]) {
    t.throws(() => kept(text), { kind: 'invalid', message: /more than 64 levels/ });
  }
  const odd = '{"a":"\\\\","b":"}\\"{[,:","value":{"value":"\\\\"},"c":[{"value":2}]}';
  t.match(kept(odd), { value: new JsonText('{"value":"\\\\"}') }, 'strings and other members');
  t.throws(() => kept('{"value":01}'), { kind: 'invalid', message: /not valid JSON/ });
  t.throws(() => kept('{"value":1,"name":"\\u0000"}'), { kind: 'invalid', message: /NUL/ });
  for (const text of [
    '{"__proto__":{"a":1},"value":1}',
    '{"a":[{"__proto__":1}],"value":1}',
    '{"a":{"constructor":{"prototype":{}}},"value":1}',
  ]) {
    t.throws(() => kept(text), { kind: 'invalid', message: /not valid JSON/ }, text);
  }
});
