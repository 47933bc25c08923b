import { newId } from '@gatehouse/core/ids';
import { foldedKey } from '@gatehouse/domain/folded-key';
import { repetitions } from '@gatehouse/testing/repetitions';
import t from 'tap';
import { type NewUser, TakenError, WrongPasswordError } from '../src/user.ts';
import { failure, PASSWORD, setUp } from './user-service-set-up.ts';

const { users, created, newsOf } = await setUp(t);

t.test('each change that has an effect on sign-ins is published', async (t) => {
  const { id, username } = await created();
  const news = (epoch: number, signInEpoch: number, reason: string, from: string, to: string) => ({
    ...{ userId: id, epoch, signInEpoch, reason, details: { from, to } },
  });
  const both = { role: 'admin', status: 'inactive', name: 'X' } as const;
  const changes: [change: () => Promise<unknown>, result: object, news: object[]][] = [
    [() => users.changeStatus(id, 'active'), { epoch: 0 }, []],
    [() => users.changeRole(id, 'user'), { epoch: 0 }, []],
    [() => users.update(id, { name: 'Somebody', role: 'user' }), { epoch: 0 }, []],
    [
      () => users.changeStatus(id, 'inactive'),
      { status: 'inactive', epoch: 1, signInEpoch: 1 },
      [news(1, 1, 'status', 'active', 'inactive')],
    ],
    [
      () => users.changeStatus(id, 'active'),
      { status: 'active', epoch: 2, signInEpoch: 1 },
      [news(2, 1, 'status', 'inactive', 'active')],
    ],
    [
      () => users.changeRole(id, 'editor'),
      { role: 'editor', epoch: 3 },
      [news(3, 1, 'role', 'user', 'editor')],
    ],
    [
      () => users.update(id, both),
      { ...both, epoch: 5, signInEpoch: 2 },
      [news(4, 1, 'role', 'editor', 'admin'), news(5, 2, 'status', 'active', 'inactive')],
    ],
  ];
  for (const [change, result, expected] of changes) {
    t.match(await change(), result);
    t.same(newsOf(id), expected);
    const { status } = await users.read(id);
    const signedIn = status === 'active' ? id : undefined;
    t.equal((await users.checkPassword(username, PASSWORD))?.id, signedIn, 'only the active sign in');
    t.match(await users.lookUp(username), { id, status });
  }
  t.match(await failure(users.update(id, { role: 'root' as never })), { details: [{ field: 'role' }] });
  await users.remove(id);
  t.same(newsOf(id), [{ userId: id, epoch: 6, signInEpoch: 3, reason: 'deleted' }]);
  for (const gone of [
    () => users.remove(id),
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

t.test('fields that may not be so', async (t) => {
  const { id } = await created();
  const invalid = (field: string) => ({ kind: 'invalid', details: [{ field }] });
  t.match(await failure(users.update(id, { firstName: '\u200b' })), invalid('first_name'));
  t.match(await failure(users.update(id, { username: 'рауpal' })), invalid('username'));
  t.match(await failure(created({ name: '\u200b' })), invalid('name'));
  t.match(await created({ name: 'Ann Other' }), { name: 'Ann Other' });
  t.match(await created({ username: 'somebody' }), { name: 'somebody' });
});

t.test('a username that was derived and is taken gets an end of its own', async (t) => {
  const names = ['Ann Marie O’Neil', 'ann marie O’NEIL', 'Ann  Marie O’Neil'];
  const usernames = [];
  for (const name of names) usernames.push((await users.create({ name })).username);
  t.equal(usernames[0], 'ann.marie.o.neil');
  for (const username of usernames.slice(1)) t.match(username, /^ann\.marie\.o\.neil-[0-9a-z]{5}$/);
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

t.test('one of many concurrent confirmations gets the address', async (t) => {
  const email = 'many-claims@example.org';
  const claims = [];
  for (let i = 0; i < 6; i += 1) claims.push(await created({ email, claimsEmail: 'unconfirmed' }));
  const results = await Promise.allSettled(claims.map(({ id }) => users.verifyEmail(id, email)));
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
});

t.test('a name that looks like that of another user is taken, and finds nobody', async (t) => {
  const cyrillic = 'ѕсоре';
  const { id } = await created({ username: 'Scope', email: 'scope@looks.example', emailVerified: true });
  const other = await created();
  for (const username of ['SCOPE', 'ｓcope', cyrillic, 'sc0pe']) {
    await t.rejects(created({ username }), new TakenError('username'), username);
    await t.rejects(users.update(other.id, { username }), new TakenError('username'));
  }
  for (const email of [`${cyrillic}@looks.example`, 'sсope@looks.example']) {
    await t.rejects(created({ email }), new TakenError('email'));
    await t.rejects(users.update(other.id, { email }), new TakenError('email'));
    t.equal(await users.lookUp(email), undefined);
    t.equal(await users.checkPassword(email, PASSWORD), undefined);
  }
  t.equal(await users.lookUp(cyrillic), undefined);
  t.equal(await users.checkPassword('sc0pe', PASSWORD), undefined);
  t.match(await users.checkPassword('SCOPE', PASSWORD), { id });
  await created({ email: `${cyrillic}@other.example` });
  const { username } = await users.create({ email: 'sc0pe@looks.example' });
  t.match(username, /^sc0pe-/, 'ASCII looks like no other address');
  for (const [first, second] of [
    ['admın', 'Admin'],
    ['carol', 'caroI'],
    ['Ivy', 'lvy'],
  ] as const) {
    await created({ username: first });
    await t.rejects(created({ username: second }), new TakenError('username'), second);
  }
});

t.test('no name that looks like one that is held is free, but for its owner', async (t) => {
  const { id } = await created({ username: 'ılgın' });
  await users.update(id, { username: 'somebody-else' });
  await t.rejects(created({ username: 'ilgin' }), new TakenError('username'));
  for (const username of ['ilgin', 'ılgın']) t.match(await users.update(id, { username }), { username });
});

t.test(
  'of addresses that look alike, the first that is confirmed stays, and none is taken away',
  async (t) => {
    const [latin, cyrillic] = ['pass@alike.example', 'раss@alike.example'];
    const first = await created({ email: latin });
    const second = await created({ email: cyrillic, claimsEmail: 'unconfirmed' });
    t.match(await users.verifyEmail(second.id, cyrillic), { email: cyrillic, emailVerified: true });
    t.match(await users.read(first.id), { email: latin, emailVerified: false });
    t.match(await users.update(first.id, { name: 'First' }), { email: latin });
    await t.rejects(users.verifyEmail(first.id, latin), new TakenError('email'));
    await t.rejects(created({ email: latin, claimsEmail: 'unconfirmed' }), new TakenError('email'));
    const third = await created({ email: latin, claimsEmail: 'any' });
    await t.rejects(users.verifyEmail(third.id, latin), new TakenError('email'));
    await users.remove(second.id);
    t.match(await users.verifyEmail(first.id, latin), { emailVerified: true });
  },
);

t.test('people who try which names and addresses are taken must wait after ten', async (t) => {
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
