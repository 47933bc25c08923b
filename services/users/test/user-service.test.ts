import { createRateLimiter } from '@gatehouse/api/http/rate-limit';
import { newId } from '@gatehouse/core/ids';
import { createRateLimitStore } from '@gatehouse/data/rate-limit-store';
import { foldedKey } from '@gatehouse/domain/folded-key';
import { repetitions } from '@gatehouse/testing/repetitions';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import { createPasswords } from '../src/passwords.ts';
import { createUserStore } from '../src/store/user-store.ts';
import { type AccountChanged, type NewUser, TakenError, WrongPasswordError } from '../src/user.ts';
import { createUserService } from '../src/user-service.ts';

const { store, connection } = await startTestDatabase(t, { define: createUserStore });
const counters = createRateLimitStore(connection);
const limiter = (name: string, quota: number, seconds: number) =>
  createRateLimiter({ name, quota, seconds }, counters);

const announced: AccountChanged[] = [];
const passwords = createPasswords({ concurrency: 1, memoryKiB: 64 });
const users = createUserService({
  store,
  passwords,
  publishAccountChange: async (event) => void announced.push(event),
  failuresPerSource: limiter('failuresPerSource', 10, 300),
  failuresPerUser: limiter('failuresPerUser', 30, 300),
  failuresInARow: limiter('failuresInARow', 100, 86_400),
  takenPerUser: limiter('takenPerUser', 10, 3600),
});

const PASSWORD = 'correct horse';

function created(over: Partial<NewUser> = {}) {
  const username = newId('x');
  return users.create({ username, email: `${username}@example.org`, password: PASSWORD, ...over });
}

/** The published changes of this user since the last call. */
function newsOf(id: string): AccountChanged[] {
  const news = announced.filter(({ userId }) => userId === id);
  for (const event of news) announced.splice(announced.indexOf(event), 1);
  return news;
}

/** What a promise is rejected with. */
function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'no failure',
    (error: unknown) => error,
  );
}

t.test('a password check finds a person by username or verified email, in any spelling', async (t) => {
  const { id, username, email } = await created({ username: 'Grün', password: 'gru\u0308n-gru\u0308n' });
  const password = 'gr\u00fcn-gr\u00fcn';
  t.match(await users.checkPassword(username, password), { id, epoch: 0 });
  t.match(await users.checkPassword('GRU\u0308N', password), { id });
  t.equal(await users.checkPassword(email ?? '', password), undefined, 'nobody has verified the address');
  t.equal(await users.lookUp(email ?? ''), undefined);
  await users.verifyEmail(id, email ?? '');
  t.match(await users.checkPassword(email?.toUpperCase() ?? '', password), { id });
  t.match(await users.lookUp(email ?? ''), { id });
  t.match(await users.lookUp('grün'), { id });
  for (const login of [
    '',
    ' ',
    '@',
    'nobody',
    'nobody@example.org',
    '$ne',
    'x'.repeat(10_000),
    `${username}\0`,
  ]) {
    t.equal(await users.lookUp(login), undefined, login.slice(0, 20));
    t.equal(await users.checkPassword(login, password), undefined, login.slice(0, 20));
  }
  for (const wrong of ['', 'grun-grun', `${password} `, `${password}\0`, 'x'.repeat(100_000)]) {
    t.equal(await users.checkPassword(username, wrong), undefined, wrong.slice(0, 20));
  }
});

t.test('the longest password in its longest form', async (t) => {
  // U+1D160 is one character that decomposes into three, each of two units; 85 of them make 255.
  const password = `${'\u1e69'.repeat(255)}\u1e65`;
  const { username, id } = await created({ password });
  t.match(await users.checkPassword(username, password.normalize('NFD')), { id });
});

t.test('the same answer for every kind of user', async (t) => {
  const active = await created();
  const inactive = await created();
  await users.changeStatus(inactive.id, 'inactive');
  const none = await created();
  await connection
    .collection('users')
    .updateOne({ _id: none.id as never }, { $set: { password_hash: null } });

  const cases: Record<string, () => Promise<unknown>> = {
    unknown: () => users.checkPassword('nobody-of-this-name', PASSWORD),
    'unknown email': () => users.checkPassword('nobody@example.org', PASSWORD),
    wrong: () => users.checkPassword(active.username, 'wrong horse'),
    inactive: () => users.checkPassword(inactive.username, PASSWORD),
    'no password': () => users.checkPassword(none.username, PASSWORD),
    'a login of 10 kB': () => users.checkPassword('ﷺ'.repeat(10_000), PASSWORD),
    'a password of 250 kB': () => users.checkPassword(active.username, 's\u0323\u0307'.repeat(50_000)),
  };
  // That all take the same time is in password-cost.full.test.ts.
  for (const [name, check] of Object.entries(cases)) t.equal(await check(), undefined, name);
});

t.test('an inactive user cannot sign in, and can again once active', async (t) => {
  const { id, username } = await created();
  t.match(await users.changeStatus(id, 'inactive'), { status: 'inactive', epoch: 1, signInEpoch: 1 });
  t.equal(await users.checkPassword(username, PASSWORD), undefined);
  t.match(await users.lookUp(username), { id, status: 'inactive' });
  t.match(await users.changeStatus(id, 'active'), { status: 'active', epoch: 2, signInEpoch: 1 });
  t.match(await users.checkPassword(username, PASSWORD), { id, epoch: 2, signInEpoch: 1 });
  t.same(newsOf(id), [
    { userId: id, epoch: 1, signInEpoch: 1, reason: 'status', details: { from: 'active', to: 'inactive' } },
    { userId: id, epoch: 2, signInEpoch: 1, reason: 'status', details: { from: 'inactive', to: 'active' } },
  ]);
});

t.test('a change without effect is not published', async (t) => {
  const { id } = await created();
  t.match(await users.changeStatus(id, 'active'), { epoch: 0 });
  t.match(await users.changeRole(id, 'user'), { epoch: 0 });
  await users.update(id, { name: 'Somebody' });
  t.same(newsOf(id), []);
  t.match(await users.changeRole(id, 'admin'), { role: 'admin', epoch: 1, signInEpoch: 0 });
  await users.remove(id);
  t.same(newsOf(id), [
    { userId: id, epoch: 1, signInEpoch: 0, reason: 'role', details: { from: 'user', to: 'admin' } },
    { userId: id, epoch: 2, signInEpoch: 1, reason: 'deleted' },
  ]);
  t.match(await failure(users.remove(id)), { kind: 'not_found' });
  for (const gone of [
    () => users.changeRole(id, 'user'),
    () => users.changeStatus(id, 'inactive'),
    () => users.changePassword(id, { newPassword: 'another horse' }),
    () => users.changePassword(id, { newPassword: 'another horse', currentPassword: PASSWORD }),
    () => users.verifyEmail(id, 'x@example.org'),
    () => users.update(id, {}),
  ]) {
    t.match(await failure(gone()), { kind: 'not_found' });
  }
  t.same(newsOf(id), []);
});

t.test('a password changes with or without the current one', async (t) => {
  const { id, username } = await created();
  const wrong = users.changePassword(id, { newPassword: 'second horse', currentPassword: 'wrong horse' });
  t.match(await failure(wrong), new WrongPasswordError());
  t.match(await users.checkPassword(username, PASSWORD), { id, epoch: 0 }, 'as it was');
  t.match(await users.changePassword(id, { newPassword: 'second horse', currentPassword: PASSWORD }), {
    epoch: 1,
    signInEpoch: 1,
  });
  t.equal(await users.checkPassword(username, PASSWORD), undefined);
  t.match(await users.checkPassword(username, 'second horse'), { id, epoch: 1, signInEpoch: 1 });
  t.match(await users.changePassword(id, { newPassword: 'third horse' }), { epoch: 2 });
  t.match(await users.checkPassword(username, 'third horse'), { id, epoch: 2 });
  t.same(
    newsOf(id).map(({ epoch, reason }) => [epoch, reason]),
    [
      [1, 'password'],
      [2, 'password'],
    ],
  );
  t.match(await failure(users.changePassword(id, { newPassword: 'short' })), {
    kind: 'invalid',
    details: [{ field: 'new_password', message: 'must have 8 to 256 characters' }],
  });
});

const GUESSED_FIRST = [
  ...['password', 'PassWord1', '12345678', 'qwertyuiop'],
  ...['987654321', '0123456789', 'Abcdefgh', '00000000', 'aaaaaaaaa', '12341234', 'QweQweQwe'],
];

t.test('no way of setting a password takes one of those that are guessed first', async (t) => {
  const { id, username } = await created();
  const epoch = (await users.read(id)).epoch;
  const ways: [field: string, set: (password: string) => Promise<unknown>][] = [
    ['password', (password) => created({ password })],
    ['password', (password) => users.update(id, { password })],
    ['password', (password) => users.update(id, { password, currentPassword: PASSWORD })],
    ['new_password', (newPassword) => users.changePassword(id, { newPassword })],
    ['new_password', (newPassword) => users.changePassword(id, { newPassword, currentPassword: PASSWORD })],
  ];
  for (const [field, set] of ways) {
    for (const password of GUESSED_FIRST) {
      const message =
        'is a common password, or only counts or repeats, and would be guessed first: choose another';
      t.match(await failure(set(password)), { kind: 'invalid', details: [{ field, message }] }, password);
    }
  }
  t.match(await users.checkPassword(username, PASSWORD), { id, epoch }, 'nothing has changed');
  const others = ['passwords of mine', 'correct horse battery staple', 'xxyzzy-1', 'abcdefgi', 'horse horse'];
  for (const password of others) {
    await users.changePassword(id, { newPassword: password });
    t.match(await users.checkPassword(username, password), { id });
  }
});

t.test('one of several changes with the same current password succeeds', async (t) => {
  const { id, username } = await created();
  const names = ['one', 'two', 'three', 'four'].map((name) => `${name} horses`);
  const results = await Promise.allSettled(
    names.map((newPassword) => users.changePassword(id, { newPassword, currentPassword: PASSWORD })),
  );
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const result of results) {
    if (result.status === 'rejected') t.match(result.reason, new WrongPasswordError());
  }
  const winner = names[results.findIndex(({ status }) => status === 'fulfilled')] ?? '';
  t.match(await users.checkPassword(username, winner), { id, epoch: 1 });
});

t.test('a sign-in during a password change gets the epoch of the checked password', async (t) => {
  for (let i = 0; i < 5; i += 1) {
    const { id, username } = await created();
    const [before, , after] = await Promise.all([
      users.checkPassword(username, PASSWORD),
      users.changePassword(id, { newPassword: 'another horse' }),
      users.checkPassword(username, 'another horse'),
    ]);
    if (before !== undefined) t.equal(before.epoch, 0, 'dead with the change');
    if (after !== undefined) t.equal(after.epoch, 1);
    t.equal(await users.checkPassword(username, PASSWORD), undefined);
  }
});

t.test('wrong current passwords are limited', async (t) => {
  const { id } = await created();
  const other = await created();
  const guess = (currentPassword: string) =>
    users.changePassword(id, { newPassword: 'another horse', currentPassword, source: 'app_1' });
  const kinds = async (guesses: Promise<unknown>[]) =>
    (await Promise.allSettled(guesses)).map((it) => (it.status === 'rejected' ? it.reason.kind : 'done'));
  for (let i = 0; i < 3; i += 1) t.same(await kinds([guess(`wrong horse ${i}`)]), ['forbidden']);
  const many = await kinds(Array.from({ length: 20 }, (_, i) => guess(`wrong horse ${i}`)));
  t.equal(many.filter((kind) => kind === 'forbidden').length, 7, 'ten in all, also when they come at a time');
  t.equal(many.filter((kind) => kind === 'rate_limited').length, 13);
  t.same(await kinds([guess(PASSWORD)]), ['rate_limited'], 'the right one is not told either');
  t.match(await failure(users.checkCurrentPassword(id, 'wrong horse')), new WrongPasswordError());
  await users.checkCurrentPassword(id, PASSWORD);
  t.match(await users.changePassword(id, { newPassword: 'another horse' }), { id }, 'an admin can');
  for (let i = 0; i < 12; i += 1) {
    const change = { newPassword: PASSWORD, currentPassword: PASSWORD, source: 'app_1' };
    await users.changePassword(other.id, change);
  }
});

t.test('fields', async (t) => {
  const { id } = await created();
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
    { picture: 'https://example.org/a.png?x=1#y' },
    { picture: `https://example.org/${'a'.repeat(1980)}` },
  ];
  for (const changes of good)
    t.match(await users.update(id, changes), changes, JSON.stringify(changes).slice(0, 60));
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
    ['picture', 'http://example.org/a.png'],
    ['picture', 'javascript:alert(1)'],
    ['picture', 'data:image/png;base64,AA'],
    ['picture', '//example.org/a.png'],
    ['picture', 'https://'],
    ['picture', 'https://user:secret@example.org/'],
    ['picture', 'https://example.org/a"onerror="x'],
    ['picture', ' https://example.org/'],
    ['picture', `https://example.org/${'a'.repeat(1981)}`],
  ];
  for (const [field, value] of bad) {
    const name = { firstName: 'first_name', lastName: 'last_name' }[field] ?? field;
    const label = `${field} ${encodeURIComponent(value).slice(0, 40)}`;
    t.match(
      await failure(users.update(id, { [field]: value })),
      { kind: 'invalid', details: [{ field: name }] },
      label,
    );
  }
  t.match(await failure(created({ name: '\u200b' })), { kind: 'invalid' });
  t.match(await created({ name: 'Ann Other' }), { name: 'Ann Other' });
  t.match(await created({ username: 'somebody' }), { name: 'somebody' });
});

t.test('only the current address can be verified', async (t) => {
  const { id, email } = await created();
  await users.update(id, { email: `new-${email}` });
  t.match(await failure(users.verifyEmail(id, email ?? '')), {
    kind: 'conflict',
    details: [{ field: 'email' }],
  });
  t.match(await users.read(id), { emailVerified: false });
  t.match(await users.verifyEmail(id, `new-${email}`), { emailVerified: true });
  t.match(await failure(users.verifyEmail('usr_none', 'x@example.org')), { kind: 'not_found' });
});

t.test('a missing username is derived from the email or the name', async (t) => {
  const cases: [NewUser, RegExp][] = [
    [{ email: 'Ann.Other+News@example.org', name: 'Somebody' }, /^ann\.other\+news$/],
    [{ name: 'Ann Marie  O’Neil' }, /^ann\.marie\.o\.neil$/],
    [{ firstName: 'Bo', lastName: 'Ek' }, /^bo\.ek$/],
    [{ name: 'Straße 5' }, /^strasse\.5$/],
    [{ name: '李小龍' }, /^李小龍$/],
    [{ name: '李' }, /^李-[0-9a-z]{5}$/],
    [{ name: '😀' }, /^user$/],
    [{ name: '!!!' }, /^user-[0-9a-z]{5}$/],
    [{ email: '{}@example.org' }, /^user-[0-9a-z]{5}$/],
    [{ name: '..a..' }, /^a-[0-9a-z]{5}$/],
    [{ name: `${'x'.repeat(63)} y` }, /^x{63}$/],
    [{ name: '\u0301abc' }, /^abc$/],
    [{ name: 'x\u200dy\u3164z' }, /^xyz$/],
    [{ name: 'Иван Гроз' }, /^иван\.гроз$/],
    [{ name: 'Ив' }, /^ив-\d{5}$/],
    [{ name: 'Иван Smith' }, /^user-[0-9a-z]{5}$/],
    [{ name: '\u{1d51e}\u{1d51f}'.repeat(60) }, /^(?:ab){32}$/],
    [{ name: 'ﷺ'.repeat(200) }, /^.{3,64}$/u],
    [{ name: '\u{20000}'.repeat(100) }, /^\u{20000}{64}$/u],
    [{ name: '\u{10428}'.repeat(100) }, /^user-[0-9a-z]{5}$/],
    [{ name: '$ne' }, /^ne-[0-9a-z]{5}$/],
  ];
  for (const [draft, expected] of cases) {
    const { id, username } = await users.create(draft);
    t.match(username, expected, JSON.stringify(draft).slice(0, 60));
    t.match(await users.update(id, { username }), { username }, 'a username as any other');
  }
  const again = await users.create({ name: 'Ann Marie O’NEIL' });
  t.match(again.username, /^ann\.marie\.o\.neil-[0-9a-z]{5}$/);
  t.match((await users.create({ name: `${'x'.repeat(63)} z` })).username, /^x{58}-[0-9a-z]{5}$/);
});

t.test(
  'a person with a name only has no address and does not sign in until there is a password',
  async (t) => {
    const person = await users.create({ name: 'Name Only', emailVerified: true });
    t.match(person, { email: null, emailVerified: false, name: 'Name Only', role: 'user', version: 1 });
    t.strictSame(await users.read(person.id), person);
    t.equal(await users.checkPassword(person.username, ''), undefined);
    t.equal(await users.checkPassword(person.username, PASSWORD), undefined);
    t.equal(await users.lookUp(`\0${person.id}`), undefined, 'the key of no address is nobody’s login');
    const wrong = users.changePassword(person.id, { newPassword: PASSWORD, currentPassword: '' });
    t.match(await failure(wrong), new WrongPasswordError());
    await users.changePassword(person.id, { newPassword: PASSWORD });
    t.match(await users.checkPassword(person.username, PASSWORD), { id: person.id });
    t.match(await users.update(person.id, { email: 'only@example.org' }), { email: 'only@example.org' });
    t.match(
      await failure(users.create({ name: 'Other', email: 'ONLY@example.org' })),
      new TakenError('email'),
    );
  },
);

t.test('a draft', async (t) => {
  for (const draft of [{}, { email: null }, { password: PASSWORD, role: 'editor' }] as NewUser[]) {
    t.match(await failure(users.create(draft)), {
      kind: 'invalid',
      details: [{ field: 'username', message: 'or an email or a name is required' }],
    });
  }
  const bad = { username: 'a', email: 'x', name: '', firstName: '\t', role: 'root', status: 'gone' };
  const problems = (await failure(users.create({ ...bad, password: 'short' } as never))) as {
    details: object[];
  };
  t.same(
    problems.details.map((it) => (it as { field: string }).field),
    ['username', 'email', 'password', 'name', 'first_name', 'role', 'status'],
  );
  const draft = {
    username: newId('x'),
    firstName: 'Ann',
    lastName: 'Other',
    role: 'admin',
    status: 'inactive',
  } as const;
  t.match(await users.create(draft), { ...draft, name: 'Ann Other', epoch: 0, signInEpoch: 0 });
  t.match(
    await failure(users.create({ username: draft.username.toUpperCase() })),
    new TakenError('username'),
  );
  const { id } = await created();
  t.match(await failure(users.create({ id, name: 'Another' })), new TakenError('id'));
});

t.test('role and status in an update end tokens, and are published', async (t) => {
  const { id } = await created();
  t.match(await users.update(id, { role: 'admin', status: 'inactive', name: 'X' }), {
    role: 'admin',
    status: 'inactive',
    name: 'X',
    epoch: 2,
    signInEpoch: 1,
  });
  t.same(newsOf(id), [
    { userId: id, epoch: 1, signInEpoch: 0, reason: 'role', details: { from: 'user', to: 'admin' } },
    { userId: id, epoch: 2, signInEpoch: 1, reason: 'status', details: { from: 'active', to: 'inactive' } },
  ]);
  await users.update(id, { role: 'admin', name: 'Y' });
  t.same(newsOf(id), []);
  t.match(await failure(users.update(id, { role: 'root' as never })), { details: [{ field: 'role' }] });
});

t.test('a conditional change and deletion', async (t) => {
  const { id, version } = await created();
  t.match(await users.update(id, { name: 'X' }, [version]), { version: version + 1 });
  t.match(await failure(users.update(id, { name: 'Y' }, [version])), { kind: 'precondition_failed' });
  t.match(await failure(users.update(id, { name: 'Y' }, [])), { kind: 'precondition_failed' });
  t.match(await failure(users.remove(id, [version])), { kind: 'precondition_failed' });
  t.match(await users.read(id), { name: 'X' });
  t.same(newsOf(id), []);
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, i) => users.update(id, { name: `N${i}` }, [version + 1])),
  );
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1, 'one of many wins');
  await users.remove(id, [version + 2]);
  t.match(await failure(users.remove(id, [version + 2])), { kind: 'not_found' });
  t.match(await failure(users.update(id, {}, [version + 2])), { kind: 'not_found' });
});

t.test('many concurrent creations: no duplicates', async (t) => {
  const drafts = Array.from({ length: repetitions(1000) }, (_, i): NewUser => {
    const n = i % 50;
    switch (i % 5) {
      case 0:
        return { username: `Crowd${n}`, email: `crowd${i}@example.org` };
      case 1:
        return { username: `crowd${n - 1}`, email: `CROWD${n}@example.org` };
      case 2:
        return { name: 'Crowd 10', email: `crowd${n - 1}@example.org` };
      case 3:
        return { name: `crowd${n - 3}` };
      default:
        return { email: `ｃrowd${n - 4}@example.com` };
    }
  });
  const results = await Promise.allSettled(drafts.map((draft) => users.create(draft)));
  const made = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  t.ok(
    failures.every((error) => error instanceof TakenError && error.field !== 'id'),
    'nothing worse than taken',
  );
  t.equal(made.length, new Set(made.map(({ username }) => foldedKey(username))).size);
  const emails = made.flatMap(({ email }) => (email === null ? [] : [foldedKey(email)]));
  t.equal(emails.length, new Set(emails).size);
  // Who has a name only is never refused, and of those who want the same one has it.
  t.ok(drafts.every((draft, i) => draft.email !== undefined || results[i]?.status === 'fulfilled'));
  for (const [i, draft] of drafts.entries()) {
    const { username, email } = draft;
    if (results[i]?.status === 'fulfilled') continue;
    const key = foldedKey(username ?? '');
    const others = made.filter(
      (other) => foldedKey(other.username) === key || foldedKey(other.email ?? '') === foldedKey(email ?? ''),
    );
    if (others.length === 0) t.fail(`nobody has what ${JSON.stringify(draft)} wanted`);
  }
  t.comment(`${made.length} created, ${failures.length} refused`);
});

t.test(
  'an address that nobody has confirmed can be claimed, and goes to whoever confirms it first',
  async (t) => {
    const email = 'Claimed@example.org';
    const first = await created({ email });
    await t.rejects(created({ email }), new TakenError('email'), 'an admin or a machine does not claim it');
    const second = await created({ email: 'claimed@EXAMPLE.org', claimsEmail: 'unconfirmed' });
    const third = await created();
    await t.rejects(users.update(third.id, { email }), new TakenError('email'));
    t.match(await users.update(third.id, { email }, undefined, { own: true }), {
      email,
      emailVerified: false,
    });
    await users.update(third.id, { name: 'Third' });

    t.match(await users.verifyEmail(third.id, email), { email, emailVerified: true });
    t.match(await users.lookUp(email), { id: third.id });
    t.match(await users.read(first.id), { email: null, emailVerified: false });
    const rejected = users.verifyEmail(second.id, 'claimed@EXAMPLE.org');
    await t.rejects(rejected, new TakenError('email'), 'what has been confirmed stays');
    await t.rejects(created({ email, claimsEmail: 'unconfirmed' }), new TakenError('email'));
    await t.rejects(users.update(first.id, { email }, undefined, { own: true }), new TakenError('email'));
    const stranger = await created({ email, claimsEmail: 'any' });
    t.match(stranger, { email, emailVerified: false }, 'a sign-up is told nothing');
    await t.rejects(users.verifyEmail(stranger.id, email), new TakenError('email'), 'and gets nothing');
    t.match(await users.lookUp(email), { id: third.id, email, emailVerified: true });

    await users.update(third.id, { email: 'elsewhere@example.org' });
    t.match(await users.verifyEmail(second.id, 'claimed@EXAMPLE.org'), { emailVerified: true });
    await users.update(second.id, { email: 'elsewhere2@example.org' });
    await created({ email });
    t.match(await users.restoreEmail(third.id, email), { email, emailVerified: true }, 'as by confirming it');
  },
);

t.test('of many who confirm an address at once, one gets it', async (t) => {
  const email = 'many-claims@example.org';
  const claims = [];
  for (let i = 0; i < 6; i += 1) claims.push(await created({ email, claimsEmail: 'unconfirmed' }));
  const results = await Promise.allSettled(claims.map(({ id }) => users.verifyEmail(id, email)));
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
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
  for (const [name, allowed] of cases) {
    const problem = await failure(created({ username: name }));
    const expected = allowed ? 'no failure' : { kind: 'invalid', details: [{ field: 'username' }] };
    t.match(problem, expected, name);
    const { id } = await created();
    t.match(await failure(users.update(id, { username: `${name}9` })), expected, `${name}, as a change`);
  }
});

t.test('ı and i are two letters', async (t) => {
  await created({ username: 'ilgin' });
  await created({ username: 'ılgın' });
  await t.rejects(created({ username: 'ILGIN' }), new TakenError('username'));
  t.match(await users.lookUp('ılgın'), { username: 'ılgın' });
});

t.test('whoever tries which names and addresses are taken must wait after ten', async (t) => {
  const taken = await created();
  await users.verifyEmail(taken.id, taken.email ?? '');
  const { id } = await created();
  const own = { own: true };
  for (let i = 0; i < 10; i += 1) {
    const change = i % 2 === 0 ? { username: taken.username } : { email: taken.email ?? '' };
    t.match(await failure(users.update(id, change, undefined, own)), { kind: 'conflict' });
    t.match(await failure(users.update(id, { name: `Name ${i}` }, undefined, own)), 'no failure');
  }
  for (const change of [{ username: taken.username }, { username: `free-${taken.username}`.slice(0, 64) }]) {
    t.match(await failure(users.update(id, change, undefined, own)), { kind: 'rate_limited' });
  }
  t.equal(
    await failure(users.update(id, { name: 'Other' }, undefined, own)),
    'no failure',
    'all else goes on',
  );
  t.match(await failure(users.update(id, { username: taken.username })), { kind: 'conflict' }, 'an admin');
});

t.test(
  'as many wrong current passwords in a row as are allowed are the last by way of applications',
  async (t) => {
    const { id } = await created();
    const unlimited = limiter('unlimited', 1e6, 60);
    const limited = createUserService({
      store,
      passwords: { ...passwords, verify: async (_hash, password) => password === PASSWORD },
      publishAccountChange: async () => {},
      failuresPerSource: unlimited,
      failuresPerUser: unlimited,
      failuresInARow: limiter('again', 10, 86_400),
      takenPerUser: unlimited,
    });
    const change = (currentPassword: string, source: string) =>
      failure(limited.changePassword(id, { newPassword: PASSWORD, currentPassword, source }));
    for (let i = 0; i < 9; i += 1) t.match(await change('wrong', `app_${i}`), { kind: 'forbidden' });
    t.equal(await change(PASSWORD, 'app_a'), 'no failure', 'a right one ends the row');
    for (let i = 0; i < 10; i += 1) t.match(await change('wrong', `app_${i}`), { kind: 'forbidden' });
    t.match(await change(PASSWORD, 'app_a'), { kind: 'rate_limited' });
    const { name } = await limited.changePassword(id, { newPassword: PASSWORD, currentPassword: PASSWORD });
    t.ok(name, 'the own page is open');
  },
);
