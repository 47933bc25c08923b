import { derivedId, isId, isUserId, leastIdAt, newId, timeOfId } from '@gatehouse/core/ids';
import t from 'tap';

/** How many ids fit into a millisecond; the next one borrows from the following. */
const SEQUENCE = 0x10000;

t.test('an id is the prefix and 26 characters that no one misreads', async (t) => {
  t.match(newId('usr'), /^usr_[0-9a-hjkmnp-tv-z]{26}$/);
  t.match(newId('a_b'), /^a_b_[0-9a-hjkmnp-tv-z]{26}$/);
});

t.test('ids sort in the order they were made', async (t) => {
  const clock = Date.now;
  t.teardown(() => {
    Date.now = clock;
  });
  let now = clock() + 1000;
  Date.now = () => now;
  const ids: string[] = [];
  const make = (count: number) => {
    for (let i = 0; i < count; i += 1) ids.push(newId('x'));
  };
  make(1000);
  now += 1;
  make(1000);
  now -= 60_000;
  make(1000);
  now += 120_000;
  make(1000);
  t.strictSame(ids, ids.toSorted(), 'over milliseconds, and when the clock goes back');

  ids.length = 0;
  make(SEQUENCE + 1000);
  now += 1;
  make(1000);
  now += 1;
  make(1000);
  const misplaced = ids.findIndex((id, i) => i > 0 && id <= (ids[i - 1] ?? ''));
  t.equal(misplaced, -1, 'also more of them than fit into one millisecond');
});

t.test('ids of the same moment differ in their random part', async (t) => {
  const tails = Array.from({ length: 1000 }, () => newId('x').slice(-12));
  t.equal(new Set(tails).size, tails.length);
});

const FORMS: [prefix: string, text: string, expected: boolean][] = [
  ['usr', newId('usr'), true],
  ['usr', `usr_${'0'.repeat(26)}`, true],
  ['usr', newId('cli'), false],
  ['usr', newId('usr').toUpperCase(), false],
  ['usr', newId('usr').slice(0, -1), false],
  ['usr', `${newId('usr')}0`, false],
  ['usr', ` ${newId('usr').slice(0, -1)}`, false],
  ['usr', `usr_${'0'.repeat(25)}\n`, false],
  ['usr', `usr-${'0'.repeat(26)}`, false],
  ['usr', 'usr_', false],
  ['usr', '', false],
  ...['i', 'l', 'o', 'u', '-', 'é'].map((letter): [string, string, boolean] => [
    'usr',
    `usr_${'0'.repeat(25)}${letter}`,
    false,
  ]),
];

t.test('isId tells the form of an id', async (t) => {
  for (const [prefix, text, expected] of FORMS) {
    t.equal(isId(prefix, text), expected, JSON.stringify(text));
  }
});

t.test('an id of a user is ours, or one that an imported account brought along', async (t) => {
  for (const [text, expected] of [
    [newId('usr'), true],
    [newId('app'), false],
    ['8f2a6c1e-0b3d-4e57-a9c4-000000000001', true],
    ['nOGWKkHV1ETZvqGIMvqo7bHAiVh1', true],
    ['60425dc43519d90068f82973', true],
    ['x'.repeat(19), false],
    ['x'.repeat(64), true],
    ['x'.repeat(65), false],
    ['auth0|60425dc43519d90068f82973', false],
    ['usr_deleted', false],
    ['8f2a6c1e-0b3d-4e57-a9c4-000000000001\n', false],
    ['éééééééééééééééééééééé', false],
  ] as const) {
    t.equal(isUserId(text), expected, JSON.stringify(text));
  }
});

t.test('a derived id is always the same, and of the form of others', async (t) => {
  t.equal(derivedId('usr', 'auth0\ngoogle-oauth2|103547991597142817347'), 'usr_0nmncrhn9q4rqjn5bmq0g9qtkg');
  t.ok(isId('usr', derivedId('usr', 'a')));
  t.not(derivedId('usr', 'a'), derivedId('usr', 'b'));
});

t.test('an id tells when it was made, and where the ids of a time begin', async (t) => {
  const clock = Date.now;
  t.teardown(() => {
    Date.now = clock;
  });
  // Later than whatever has been made before, as ids never go back.
  const now = clock() + 3_600_000;
  for (const ms of [now, now + 1, now + 86_400_000]) {
    Date.now = () => ms;
    const id = newId('x');
    t.equal(timeOfId(id).getTime(), ms);
    t.ok(leastIdAt('x', new Date(ms)) <= id);
    t.ok(leastIdAt('x', new Date(ms + 1)) > id);
    t.ok(isId('x', leastIdAt('x', new Date(ms))));
  }
  t.equal(leastIdAt('x', new Date(-1)), leastIdAt('x', new Date(0)), 'before 1970 as in 1970');
  t.ok(leastIdAt('x', new Date(8.64e15)) > newId('x'));
});
