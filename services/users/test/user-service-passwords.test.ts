import t from 'tap';
import { WrongPasswordError } from '../src/user.ts';
import { createUserService } from '../src/user-service.ts';
import { failure, PASSWORD, setUp } from './user-service-set-up.ts';

const { users, options, connection, limiter, created, newsOf } = await setUp(t);

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

t.test('no way of setting a password takes a name of the account, in any spelling', async (t) => {
  const message = 'is the username or the email address, and would be guessed first: choose another';
  const [username, email] = ['Günther.Ünal', 'Ann.Other-1@BÜCHER.example'];
  const names = [
    'GÜNTHER.ÜNAL',
    'gu\u0308nther.u\u0308nal',
    'ann.other-1',
    'ann.other-1@xn--bcher-kva.example',
  ];
  const { id } = await created({ username, email });
  for (const password of names) {
    const problem = { kind: 'invalid', details: [{ field: 'password', message }] };
    const other = { username: `${username}2`, email: `2${email}` };
    t.match(await failure(users.update(id, { password })), problem, password);
    t.match(
      await failure(users.changePassword(id, { newPassword: password })),
      { kind: 'invalid', details: [{ field: 'new_password', message }] },
      password,
    );
    await users.update(id, other);
    t.match(await failure(users.update(id, { username, email, password })), problem, 'with the name');
    await users.update(id, { username, email });
  }
  const own = { username: 'Second.One', email: 'second@example.net', password: 'SECOND.ONE' };
  t.match(await failure(users.create(own)), { details: [{ field: 'password', message }] });
  const derived = { email: 'Someone@example.net', password: 'SOMEONE@example.net' };
  t.match(await failure(users.create(derived)), { details: [{ field: 'password', message }] });
  t.match(await failure(users.create({ name: 'Some Body', password: 'some.body' })), {
    details: [{ message }],
  });
  await users.changePassword(id, { newPassword: 'günther.ünal-and-more' });
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

t.test(
  'as many wrong current passwords in a row as are allowed are the last by way of applications',
  async (t) => {
    const { id } = await created();
    const unlimited = limiter('unlimited', 1e6, 60);
    const limited = createUserService({
      ...options,
      passwords: { ...options.passwords, verify: async (_hash, password) => password === PASSWORD },
      failuresPerSource: unlimited,
      failuresPerUser: unlimited,
      failuresInARow: limiter('again', 10, 86_400),
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
