import { createHash } from 'node:crypto';
import { newApiKey } from '@gatehouse/tokens/api-key';
import { API_KEY_PREFIX, parseApiKey } from '@gatehouse/verify/api-key';
import t from 'tap';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

t.test('a new key is read as what it is', async (t) => {
  const seen = new Set<string>();
  for (let i = 0; i < 2000; i += 1) {
    const { id, key, hash } = newApiKey();
    if (!/^gatehouse_[0-9A-Za-z]{60}$/.test(key)) t.fail(`${key.length} characters`);
    if (!/^[0-9A-Za-z]{11}$/.test(id) || key.slice(10, 21) !== id) t.fail('its id is the first part');
    const parsed = parseApiKey(key);
    if (parsed?.id !== id || parsed.hash !== hash) t.fail('it is read otherwise');
    seen.add(id).add(key).add(hash);
  }
  t.equal(seen.size, 6000, 'no two are alike');
  const { key, hash } = newApiKey();
  t.equal(hash, createHash('sha256').update(key).digest('base64url'), 'the hash is over the whole key');
});

t.test('every part is random in every place', async (t) => {
  const places = Array.from({ length: 60 }, () => new Set<string>());
  for (let i = 0; i < 2000; i += 1) {
    const digits = newApiKey().key.slice(API_KEY_PREFIX.length);
    for (const [place, seen] of places.entries()) seen.add(digits[place] ?? '');
  }
  // The first digit of a number of a fixed size takes fewer values: 2^64, 2^256 and 2^32 are no powers of 62.
  const first = new Map(
    [
      [0, 21],
      [11, 54],
      [54, 4],
    ].map(([place, least]) => [place, least]),
  );
  for (const [place, seen] of places.entries()) t.ok(seen.size >= (first.get(place) ?? 62), `place ${place}`);
});

t.test('typing errors are found', async (t) => {
  const { key } = newApiKey();
  let accepted = 0;
  for (let place = API_KEY_PREFIX.length; place < key.length; place += 1) {
    for (const character of ALPHABET) {
      const typed = key.slice(0, place) + character + key.slice(place + 1);
      if (typed !== key && parseApiKey(typed) !== undefined) accepted += 1;
    }
    const [a = '', b = ''] = key.slice(place, place + 2);
    const swapped = key.slice(0, place) + b + a + key.slice(place + 2);
    if (swapped !== key && parseApiKey(swapped) !== undefined) accepted += 1;
  }
  t.equal(accepted, 0, 'one character, or two exchanged');
});

t.test('invalid keys', async (t) => {
  const { key } = newApiKey();
  const CASES: [label: string, text: string][] = [
    ['nothing', ''],
    ['the prefix', API_KEY_PREFIX],
    ['a token', 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.AZaz09-_'],
    ['another prefix', key.replace('gatehouse', 'Gatehouse')],
    ['no prefix', key.slice(API_KEY_PREFIX.length)],
    ['too short', key.slice(0, -1)],
    ['too long', `${key}0`],
    ['a line end', `${key}\n`],
    ['spaces around', ` ${key} `],
    ['another alphabet', `${key.slice(0, -1)}-`],
    ['no ASCII', `${key.slice(0, -1)}ä`],
    ['very long', API_KEY_PREFIX + 'a'.repeat(1_000_000)],
  ];
  for (const [label, text] of CASES) t.equal(parseApiKey(text), undefined, label);
});
