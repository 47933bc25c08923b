import t from 'tap';
import { asciiDomain } from '../src/domain-name.ts';
import { emailKey, foldedKey, loginKey } from '../src/folded-key.ts';

/** One character that becomes eighteen, which takes longest of all. */
const LONGEST = '\ufdfa';

t.test('a character that takes long is folded once, however often a login has it', async (t) => {
  const key = foldedKey(LONGEST);
  t.equal([...key].length, 18);
  t.equal(loginKey(LONGEST.repeat(1024)), key.repeat(1024));
  const timeOf = (text: string) => {
    const times = Array.from({ length: 5 }, () => {
      const before = process.cpuUsage();
      loginKey(text);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    });
    return Math.min(...times) / 1000;
  };
  const ms = timeOf(LONGEST.repeat(1024));
  t.ok(ms < 15, `a login of 1,024 of them takes ${ms} ms`);
});

t.test('more characters than are kept', async (t) => {
  const many = Array.from({ length: 20_000 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join('');
  t.equal(foldedKey(many), many);
  t.equal(foldedKey('ÄÖÜ ß ﬃ'), 'äöü ss ffi');
});

t.test('spellings of one text have the same key', async (t) => {
  for (const [a, b] of [
    ['Ann', 'aNN'],
    ['Straße', 'STRASSE'],
    ['straße', 'straẞe'],
    ['ﬁnn', 'FINN'],
    ['Å', 'A\u030a'],
    ['ΣΊΣΥΦΟΣ', 'σίσυφος'],
    ['１２３', '123'],
    ['ΣΊΣΥΦΟΣ.Α', 'σίσυφος.α'],
    ['İ', 'i\u0307'],
    ['ſ', 's'],
    ['Ꭰ', 'ꭰ'],
    ['\u0345', 'ι'],
    ['ᾼ', 'αι'],
    ['a\u200db', 'AB'],
  ] as const) {
    t.equal(foldedKey(a), foldedKey(b), `${a} ${b}`);
  }
  for (const [a, b] of ['ann an', 'ı i', 'I ı', 'İ i'].map((pair) => pair.split(' '))) {
    t.not(foldedKey(a ?? ''), foldedKey(b ?? ''), `${a} ${b}`);
  }
});

t.test('domains of addresses are compared as A-labels (UTS #46, nontransitional)', async (t) => {
  for (const [a, b] of [
    ['x@bücher.example', 'X@XN--BCHER-KVA.example'],
    ['x@bücher.example', 'x@BU\u0308CHER.Example.'],
    ['x@bücher.example', 'x＠ｂü\u200dｃｈｅｒ．ｅｘａｍｐｌｅ'],
    ['x@bücher.example', 'x@bücher。example'],
    ['x@straße.de', 'x@straẞe.de'],
    ['Straße@example.org', 'STRASSE@EXAMPLE.ORG.'],
  ] as const) {
    t.equal(emailKey(a), emailKey(b), `${a} ${b}`);
    t.equal(loginKey(` ${a}\u3000`), emailKey(b));
  }
  for (const [a, b] of [
    ['x@straße.de', 'x@strasse.de'],
    ['x@example.org', 'x@example.org/'],
    ['x@example.org', 'x@example.org:80'],
    ['x@example.org', 'x@exampl%65.org'],
    ['x@faß.de', 'x@fass.de'],
  ] as const) {
    t.not(emailKey(a), emailKey(b), `${a} ${b}`);
  }
  t.equal(loginKey('＠'), '@');
  const none = [
    '',
    '.',
    'a..b',
    'a.1',
    'a.٣',
    'xn--a.de',
    'xn--.de',
    `${'ü'.repeat(60)}.de`,
    'a_b.de',
    'a/b.de',
  ];
  for (const domain of none) t.equal(asciiDomain(domain), undefined, domain);
  const long = Array.from({ length: 1000 }, (_, i) => String.fromCodePoint(0x4e00 + 7 * i)).join('');
  const before = performance.now();
  loginKey(`x@${long}`);
  loginKey('@'.repeat(1024));
  t.ok(performance.now() - before < 50, 'a long one takes no time');
});
