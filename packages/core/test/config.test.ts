import {
  addresses,
  date,
  insteadOf,
  integer,
  keys256,
  list,
  oneOf,
  optional,
  origin,
  readSettings,
  type Setting,
  SettingsError,
  secret,
  text,
  url,
} from '@gatehouse/core/config';
import { serverSettings } from '@gatehouse/server/service-settings';
import t from 'tap';

const HEX = '0123456789abcdef'.repeat(4);
const OTHER_HEX = 'ab'.repeat(32);
const BYTES = Buffer.from(HEX, 'hex');

const read = <T>(setting: Setting<T>, raw?: string): T =>
  readSettings({ value: setting }, raw === undefined ? {} : { [setting.name]: raw }).value;

const GOOD: [label: string, setting: Setting<unknown>, raw: string | undefined, expected: unknown][] = [
  ['text', text('X'), ' as it is ', ' as it is '],
  ['text, default', text('X', 'fallback'), undefined, 'fallback'],
  ['text, empty is not set', text('X', 'fallback'), '', 'fallback'],
  ['text, empty default', text('X', ''), undefined, ''],
  ['optional', optional(integer('X', { min: 0, max: 9 })), '7', 7],
  ['optional, not set', optional(integer('X', { min: 0, max: 9 })), undefined, undefined],
  ['optional, empty', optional(text('X')), '', undefined],
  ['integer, least', integer('X', { min: -3, max: 5 }), '-3', -3],
  ['integer, most', integer('X', { min: -3, max: 5 }), '5', 5],
  ['integer, default', integer('X', { min: 1, max: 5, default: 4 }), undefined, 4],
  ['integer, default zero', integer('X', { min: 0, max: 5, default: 0 }), '', 0],
  ['oneOf', oneOf('X', ['on', 'off']), 'off', 'off'],
  ['oneOf, default', oneOf('X', ['on', 'off'], 'on'), '', 'on'],
  ['list', list('X'), 'a, b,,c ,', ['a', 'b', 'c']],
  ['list of words', list('X', [], ['a', 'b']), 'b', ['b']],
  ['list, not set', list('X'), undefined, []],
  ['list, default', list('X', ['d']), '', ['d']],
  ['list, only commas', list('X', ['d']), ' , ', []],
  ['origin', origin('X'), 'https://id.example.com', 'https://id.example.com'],
  ['origin, slash', origin('X'), 'http://localhost:3000/', 'http://localhost:3000'],
  ['origin, normal form', origin('X'), 'HTTPS://ID.Example.com:443', 'https://id.example.com'],
  ['origin, IPv6', origin('X'), 'http://[::1]:3000', 'http://[::1]:3000'],
  ['origin, default', origin('X', 'http://localhost'), '', 'http://localhost'],
  ['url', url('X', ['mongodb:', 'mongodb+srv:']), 'mongodb://a:1,b:2/db?x=y', 'mongodb://a:1,b:2/db?x=y'],
  ['url, second scheme', url('X', ['mongodb:', 'mongodb+srv:']), 'mongodb+srv://a/', 'mongodb+srv://a/'],
  ['url, default', url('X', ['nats:'], 'nats://localhost'), undefined, 'nats://localhost'],
  ['date', date('X', { min: '2026-07-10' }), '2028-02-29', new Date('2028-02-29T00:00:00.000Z')],
  ['date, the first', date('X', { min: '2026-07-10' }), '2026-07-10', new Date(Date.UTC(2026, 6, 10))],
  ['date, default', date('X', { min: '2026-07-10', default: '2027-07-10' }), '', new Date('2027-07-10')],
  ['keys256, hexadecimal', keys256('X'), HEX, [BYTES]],
  ['keys256, upper case', keys256('X'), HEX.toUpperCase(), [BYTES]],
  ['keys256, base64', keys256('X'), BYTES.toString('base64'), [BYTES]],
  ['keys256, base64url', keys256('X'), BYTES.toString('base64url'), [BYTES]],
  ['keys256, several', keys256('X'), `${OTHER_HEX}, ${HEX}`, [Buffer.from(OTHER_HEX, 'hex'), BYTES]],
];

t.test('settings that do', async (t) => {
  for (const [label, setting, raw, expected] of GOOD) t.strictSame(read(setting, raw), expected, label);
});

const BAD: [label: string, setting: Setting<unknown>, raw: string | undefined, problem: string][] = [
  ['text', text('X'), undefined, 'is required'],
  ['text, empty', text('X'), '', 'is required'],
  ...['0', '6', '1.5', '1e0', '0x1', ' 1', 'one', '9'.repeat(400), '-'].map(
    (raw): [string, Setting<unknown>, string, string] => [
      `integer, ${raw.slice(0, 9)}`,
      integer('X', { min: 1, max: 5 }),
      raw,
      'must be a whole number from 1 to 5',
    ],
  ),
  ['integer, no default', integer('X', { min: 1, max: 5 }), '', 'is required'],
  ['optional', optional(integer('X', { min: 1, max: 5 })), '9', 'must be a whole number from 1 to 5'],
  ['oneOf', oneOf('X', ['on', 'off']), 'ON', 'must be one of on, off'],
  ...[
    'id.example.com',
    'ftp://id.example.com',
    'https://id.example.com/path',
    'https://id.example.com/?query',
    'https://id.example.com/#hash',
    'https://user@id.example.com',
    'https://:secret@id.example.com',
    'https://',
    '/',
  ].map((raw): [string, Setting<unknown>, string, string] => [
    `origin, ${raw}`,
    origin('X'),
    raw,
    'must be an origin such as https://id.example.com',
  ]),
  ['url', url('X', ['mongodb:']), 'http://a', 'must begin with mongodb://'],
  ['url, two', url('X', ['nats:', 'tls:']), 'nats:a', 'must begin with nats:// or tls://'],
  ['date, not set', date('X', { min: '2026-07-10' }), undefined, 'is required'],
  ...[
    '2026-07-09',
    '2027-02-29',
    '2027-13-01',
    '2027-1-1',
    '20270101',
    '2027-01-01T00:00:00Z',
    '+012027-01-01',
    ' 2027-01-01',
    'soon',
  ].map((raw): [string, Setting<unknown>, string, string] => [
    `date, ${raw}`,
    date('X', { min: '2026-07-10' }),
    raw,
    'must be a date such as 2027-01-31, and not before 2026-07-10',
  ]),
  ['keys256, not set', keys256('X'), '', 'is required'],
  ...[
    HEX.slice(1),
    `${HEX}00`,
    BYTES.subarray(1).toString('base64'),
    'a passphrase',
    `${HEX},`,
    `${HEX},short`,
  ].map((raw): [string, Setting<unknown>, string, string] => [
    `keys256, ${raw}`,
    keys256('X'),
    raw,
    'must be 32 bytes, in hexadecimal or base64',
  ]),
];

t.test('settings that do not, each with its sentence', async (t) => {
  for (const [label, setting, raw, problem] of BAD) {
    const error = t.throws(() => read(setting, raw), label) as Error;
    t.strictSame([error.name, error.message], ['SettingsError', `The setting X ${problem}.`], label);
  }
});

t.test('all problems are reported at once, without values', async (t) => {
  const secret = 'mysecretvalue';
  const schema = {
    fine: text('FINE'),
    missing: text('MISSING'),
    word: oneOf('WORD', ['a', 'b']),
    number: integer('NUMBER', { min: 0, max: 1 }),
    site: origin('SITE'),
    store: url('STORE', ['mongodb:']),
    key: keys256('KEY'),
  };
  const names = ['WORD', 'NUMBER', 'SITE', 'STORE', 'KEY'];
  const env = { FINE: secret, ...Object.fromEntries(names.map((name) => [name, secret])) };
  const error = t.throws(() => readSettings(schema, env)) as SettingsError;
  t.ok(error instanceof SettingsError);
  const lines = error.message.split('\n');
  t.strictSame(
    lines.map((line) => /^The setting ([A-Z]+) .+\.$/.exec(line)?.[1]),
    ['MISSING', ...names],
  );
  t.notMatch(error.message, secret);
});

t.test('an error of the setting itself is not taken for a wrong value', async (t) => {
  const broken: Setting<string> = {
    ...text('X'),
    read: () => {
      throw new TypeError('a fault');
    },
  };
  t.throws(() => read(broken), new TypeError('a fault'));
});

t.test('the settings of every process', async (t) => {
  t.strictSame(readSettings(serverSettings, { PUBLIC_URL: 'https://id.example.com' }), {
    port: 3000,
    managementPort: 9000,
    host: '::',
    publicUrl: 'https://id.example.com',
    trustedProxies: [],
    logLevel: 'info',
    shutdownDelaySeconds: 5,
    drainSeconds: 10,
    headersTimeoutSeconds: 10,
    requestTimeoutSeconds: 60,
    responseTimeoutSeconds: 120,
    maxConnections: 4096,
    migrateAtStart: 'on',
    rateLimit: 'on',
    rateLimitStore: 'memory',
    staleAfterSeconds: 300,
  });
  t.throws(() => readSettings(serverSettings, {}), { message: 'The setting PUBLIC_URL is required.' });
});

t.test('values that a lenient parser would correct silently are refused', async (t) => {
  const cases = [
    [origin('X'), 'https://*'],
    [origin('X'), 'https:a.b'],
    [origin('X'), 'https://a?'],
    [origin('X'), ' https://a.example'],
    [keys256('X'), `${'*'.repeat(10)}${'A'.repeat(43)}`],
    [list('X', [], ['a', 'b']), 'a,c'],
    [addresses('X'), 'localhost'],
    [addresses('X'), '10.0.0.0/33'],
    [addresses('X'), '10.0.0.0/'],
  ] as const;
  for (const [setting, raw] of cases) {
    t.throws(() => readSettings({ value: setting }, { X: raw }), /^The setting X must/, raw);
  }
  t.same(readSettings({ value: addresses('X') }, { X: '10.0.0.0/8, ::1' }), { value: ['10.0.0.0/8', '::1'] });
});

t.test('a setting in place of another: one of the two', async (t) => {
  const schema = { secret: text('SECRET'), file: insteadOf('SECRET', text('FILE')) };
  t.strictSame(readSettings(schema, { SECRET: 's', FILE: '' }), { secret: 's', file: undefined });
  t.strictSame({ ...readSettings(schema, { SECRET: '', FILE: 'f' }) }, { file: 'f' });
  t.throws(() => readSettings(schema, {}), { message: 'The setting SECRET is required.' });
  t.throws(() => readSettings(schema, { SECRET: 's', FILE: 'f' }), {
    message: 'The settings SECRET and FILE exclude one another.',
  });
  const hidden = { ...schema, secret: secret('SECRET') };
  t.throws(() => readSettings(hidden, { SECRET: 's', SECRET_FILE: '/s', FILE: 'f' }), {
    message: 'The settings SECRET, SECRET_FILE and FILE exclude one another.',
  });
});

t.test('the file of a secret', async (t) => {
  const directory = t.testdir({ key: `${HEX}\r\n\n`, spaces: ' a\nb ', short: 'mysecretvalue', empty: '\n' });
  const file = (name: string) => `${directory}/${name}`;
  const schema = { key: keys256('KEY'), word: text('WORD', 'default') };
  t.strictSame(readSettings(schema, { KEY_FILE: file('key'), KEY: '', WORD_FILE: file('key') }), {
    key: [BYTES],
    word: 'default',
  });
  t.strictSame(readSettings({ x: secret('X') }, { X_FILE: file('spaces') }).x, ' a\nb ');
  for (const [env, problem] of [
    [{ KEY: HEX, KEY_FILE: file('key') }, 'settings KEY and KEY_FILE exclude one another'],
    [{ KEY_FILE: file('none') }, 'setting KEY_FILE names a file that cannot be read (ENOENT)'],
    [{ KEY_FILE: directory }, 'setting KEY_FILE names a file that cannot be read (EISDIR)'],
    [{ KEY_FILE: `/${'k'.repeat(42)}=` }, 'setting KEY_FILE names a file that cannot be read (ENOENT)'],
    [{ KEY_FILE: file('empty') }, 'setting KEY_FILE names a file that is empty'],
    [{ KEY_FILE: file('short') }, 'setting KEY_FILE must be 32 bytes, in hexadecimal or base64'],
    [{ KEY_FILE: HEX }, 'setting KEY_FILE must be an absolute path'],
  ] as const)
    t.throws(() => readSettings(schema, env), { message: `The ${problem}.` });
});
