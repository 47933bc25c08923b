import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { derivedId } from '@gatehouse/core/ids';
import t from 'tap';
import { importCommand } from '../../src/import/import-command.ts';
import { FIXTURES, setUp } from './import-set-up.ts';

const SSHA = '{SSHA}TGKsrHe8F6t6o8QlPKxeRv3hjfEgJGSs';
const { run, ndjson, stored, users, collection } = await setUp(t);
const named = (username: string) => collection.findOne({ username });

t.test('every field of a line', async (t) => {
  const line = {
    ...{
      id: 'a5a0b0f2-5ad5-4f5e-9d3f-0a0a0a0a0a01',
      username: 'ann',
      email: 'Ann@example.org',
      email_verified: true,
    },
    ...{ name: 'Ann O.', first_name: 'Ann', last_name: 'Other', role: 'editor', status: 'inactive' },
    ...{ created_at: '2019-05-06T07:08:09Z', password_hash: SSHA },
  };
  t.match(await ndjson(line, ''), {
    status: 0,
    output: '',
    log: '1 accounts: 1 created, 0 already there, 0 refused.\n',
  });
  const { id, password_hash: _, ...fields } = line;
  t.match(await stored(id), {
    ...{
      ...fields,
      created_at: new Date(line.created_at),
      password_hash: /^\$salted-sha1\$/,
      version: 1,
      epoch: 0,
    },
    outbox: [{ subject: 'users.account.recorded' }, { subject: 'users.user.created' }],
  });
});

t.test('lines that are refused do not keep others from being imported', async (t) => {
  const lines = [
    '{"username":"broken"',
    '[]',
    { username: 'ANN', email: 'another@example.org' },
    { username: 'ann.b', email: 'ann@EXAMPLE.org' },
    { username: 'a@b', email: 'a-at-b@example.org' },
    { username: 'good1', email: 'not an address' },
    { username: 'good1', email: 'good1@example.org', role: 'king' },
    { username: 'good1', email: 'good1@example.org', email_verified: 'yes' },
    { username: 'good1', email: 'good1@example.org', created_at: '2999-01-01T00:00:00Z' },
    { username: 'good1', email: 'good1@example.org', created_at: 'then' },
    {
      username: 'good1',
      email: 'good1@example.org',
      password_hash: 'pbkdf2_sha256$2147483648$salt$AAAAAAAAAAAAAAAAAAAAAA==',
    },
    { username: 'good1', first_name: 'x'.repeat(201) },
    { username: 'good1', email: 'good1@example.org', name: 'NUL \0' },
    { name: 'Nobody can find this one again' },
    {},
    `{"username":"large","name":"${'x'.repeat(1024 * 1024)}"}`,
    '{"username":"proto","__proto__":{"role":"admin"}}',
    Buffer.from([0x7b, 0x22, 0xff]).toString('latin1'),
    { username: 'good1', email: 'good1@example.org', password_hash: SSHA },
    { username: 'good2' },
    { email: 'good1@example.net' },
    { email: 'good1@example.com' },
  ];
  const { status, log, outcomes } = await ndjson(...lines);
  t.equal(status, 2);
  t.equal(log, '22 accounts: 4 created, 0 already there, 18 refused.\n');
  const reasons = outcomes.map(({ line, reason }) => `${line} ${reason}`);
  t.match(reasons, [
    /^1 The account is not valid JSON\.$/,
    /^2 The account must be a JSON object\.$/,
    /^3 This username is already taken\.$/,
    /^4 This email is already taken\.$/,
    /^5 username may contain letters/,
    /^6 email must be a valid email address\.$/,
    /^7 role must be one of user, editor, admin\.$/,
    /^8 email_verified must be true or false or /,
    /^9 The time of creation must lie between 1970 and now\.$/,
    /^10 The time of creation must lie/,
    /^11 The password hash has a parameter i of pbkdf2-sha256 of 2147483648: it must be from 1 to 2000000\.$/,
    /^12 first_name must have 1 to 200 characters\.$/,
    /^13 A string contains a NUL/,
    /^14 id or a username or an email is required\.$/,
    /^15 username or an email or a name is required; id or/,
    /^16 The account takes more than 1048576 bytes\.$/,
    /^17 The account is not valid JSON\.$/,
    /^18 The account is not valid/,
  ]);
  t.match(outcomes[2], { status: 'refused', username: 'ANN', email: 'another@example.org' });
  const derived = await collection.find({ email: /^good1@example\.(?:net|com)$/ }).toArray();
  t.equal(derived.length, 2);
  for (const { username } of derived) t.match(username, /^good1-[a-z0-9]{5}$/);
});

t.test('a file that says an account twice', async (t) => {
  const line = { id: 'a5a0b0f2-5ad5-4f5e-9d3f-0a0a0a0a0a02', username: 'twice', email: 'twice@example.org' };
  t.match(await ndjson(line, line), {
    status: 0,
    log: '2 accounts: 1 created, 1 already there, 0 refused.\n',
  });
  const without = { username: 'no-id', email: 'no-id@example.org' };
  t.match(await ndjson(without, without), { status: 0, log: /1 created, 1 already there/ });
  t.equal((await named('no-id'))?._id, derivedId('usr', 'ndjson\nno-id'));
});

t.test('an account that has changed since stays as it is', async (t) => {
  const line = {
    id: 'a5a0b0f2-5ad5-4f5e-9d3f-0a0a0a0a0a03',
    username: 'changes',
    email: 'changes@example.org',
    password_hash: SSHA,
  };
  await ndjson(line);
  t.ok(await users.checkPassword('changes', 'pässword Nr 7'));
  await users.update(line.id, { username: 'changed', name: 'Somebody else' });
  const before = await stored(line.id);
  t.match(await ndjson(line), { status: 0, log: /1 already there, 0 refused\. Nothing has changed/ });
  t.same(await stored(line.id), before);
});

t.test('ids that do not fit here become others, always the same', async (t) => {
  for (const [id, isKept] of [
    ['42', false],
    ['usr_admin', false],
    ['usr_06f2k1c8w0h3v5n7q9t1x3z5b7', true],
    ['app_06f2k1c8w0h3v5n7q9t1x3z5b7', false],
    ['dashboard', false],
    ['github|12345678901234567890', false],
    ['a/../../../../../../../x', false],
    ['x'.repeat(64), true],
    ['x'.repeat(65), false],
  ] as const) {
    const username = `of${id.length}${id.replace(/[^a-z0-9]/g, '').slice(-40)}`;
    const { outcomes } = await ndjson({ id, username });
    const own = (await named(username))?._id as unknown as string;
    if (isKept) t.match([own, outcomes], [id, []]);
    else t.match(outcomes, [{ line: 1, status: 'created', id: own, source_id: id }]);
    t.match(await ndjson({ id, username }), { log: /Nothing has changed/ });
  }
});

t.test('what is wrong with the command or its file', async (t) => {
  const directory = t.testdir();
  const file = (name: string, text: string) => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const keycloak = join(FIXTURES, 'keycloak.json');
  for (const [args, log] of [
    [[], /^Usage: npm run import:users/],
    [['--from', 'keycloak'], /^Usage/],
    [['--from', 'constructor', keycloak], /^Usage/],
    [['--from', 'keycloak', keycloak, keycloak], /^Usage/],
    [['--from', 'firebase', keycloak], /^Usage/],
    [['--from', 'keycloak', '--hash-config', keycloak, keycloak], /^Usage/],
    [['--form', 'keycloak', keycloak], /Unknown option '--form'/],
    [['--from', 'keycloak', join(directory, 'none')], /^ENOENT: no such file or directory, open '.*'\.\n$/],
    [['--from', 'keycloak', directory], /^EISDIR/],
    [
      ['--from', 'keycloak', file('a', '{"users":[{"username":"cut"')],
      /^The file ends before the JSON document does\.\n$/,
    ],
    [
      ['--from', 'keycloak', file('b', '{"realm":"shop"}')],
      /^The file is no JSON document with a list users\.\n$/,
    ],
    [
      ['--from', 'firebase', '--hash-config', file('c', 'rounds: 8'), keycloak],
      /^The hash parameters lack algorithm/,
    ],
    [['--from', 'firebase', '--hash-config', file('d', 'algorithm: BCRYPT'), keycloak], /is not SCRYPT/],
  ] as const) {
    const { status, log: written, output } = await run([...args]);
    t.match([status, output], [1, '']);
    t.match(written, log);
    t.notMatch(written, /\bat .*:\d+:\d+/, 'no stack');
  }
});

t.test('a database that is away', async (t) => {
  let log = '';
  const options = {
    ...{ args: ['--from', 'keycloak', join(FIXTURES, 'keycloak.json')], input: process.stdin },
    ...{ write: async () => {}, maxWaitSeconds: 0.5 },
    log(text: string) {
      log += text;
    },
  };
  t.equal(await importCommand({ ...options, mongodbUri: 'mongodb://127.0.0.1:1', migrateAtStart: 'on' }), 1);
  t.match(log, /cannot be imported into: not yet connected to its database/);
});
