import t from 'tap';
import { storedHash } from '../src/hashes/hash-formats.ts';
import { hashOf } from '../src/hashes/hash-notations.ts';
import { createPasswords } from '../src/passwords.ts';
import { type UserStore, WrongPasswordError } from '../src/user.ts';
import { createUserService } from '../src/user-service.ts';
import { VECTORS } from './hashes/vectors.ts';
import { failure, PASSWORD, setUp } from './user-service-set-up.ts';

const { users, options, connection, created, newsOf } = await setUp(t);
const collection = connection.collection('users');
const hashIn = async (id: string) =>
  (await collection.findOne({ _id: id as never }))?.password_hash as string;
const OWN = /^\$argon2id\$v=19\$m=64,t=2,p=1\$/;
const SSHA = hashOf('{SSHA}TGKsrHe8F6t6o8QlPKxeRv3hjfEgJGSs');
const OF_SSHA = 'pässword Nr 7';

/** An account as it is after an import of this hash. */
async function imported(hash: string) {
  const user = await created();
  await collection.updateOne({ _id: user.id as never }, { $set: { password_hash: hash } });
  newsOf(user.id);
  return user;
}

t.test('the first right password replaces a hash of any format, and nothing else', async (t) => {
  for (const { from, password, hash } of VECTORS) {
    const { id, username } = await imported(hashOf(hash));
    const before = await collection.findOne({ _id: id as never });
    t.equal(await users.checkPassword(username, `${password}x`), undefined, `${from}: wrong`);
    t.same(await collection.findOne({ _id: id as never }), before);
    t.match(
      await users.checkPassword(username, password),
      { id, epoch: 0, signInEpoch: 0 },
      `${from}: right`,
    );
    const after = await collection.findOne({ _id: id as never });
    t.match(after?.password_hash, OWN);
    t.same(
      { ...after, password_hash: before?.password_hash },
      before,
      'version, epochs and outbox are the same',
    );
    t.match(await users.checkPassword(username, password), { id }, 'and again');
    t.equal(await hashIn(id), after?.password_hash, 'the second sign-in replaces nothing');
    t.same(newsOf(id), []);
  }
});

t.test('the current password replaces it, too, and still changes what it is needed for', async (t) => {
  const { id } = await imported(SSHA);
  await users.checkCurrentPassword(id, OF_SSHA);
  t.match(await hashIn(id), OWN);
  const other = await imported(SSHA);
  await t.rejects(users.checkCurrentPassword(other.id, 'wrong'), { message: /not right/ });
  t.equal(await hashIn(other.id), SSHA);
  await users.changePassword(other.id, { newPassword: PASSWORD, currentPassword: OF_SSHA });
  t.match(await users.checkPassword(other.username, PASSWORD), { id: other.id, epoch: 1, signInEpoch: 1 });
});

t.test('an inactive account keeps its hash, whose replacement would show the right password', async (t) => {
  const { id, username } = await imported(SSHA);
  await users.changeStatus(id, 'inactive');
  t.equal(await users.checkPassword(username, OF_SSHA), undefined);
  t.equal(await hashIn(id), SSHA);
});

t.test('a hash of bcrypt stays when the password is longer than what bcrypt reads', async (t) => {
  const { hash } = await import('@node-rs/bcrypt');
  const password = 'x'.repeat(80);
  const { id, username } = await imported(storedHash(await hash(password, 4)));
  t.match(await users.checkPassword(username, password), { id });
  t.match(await hashIn(id), /^\$2b\$04/, 'what follows the 72nd byte may be mistyped');
});

t.test('a password in another composition of its accents than the one that was hashed', async (t) => {
  const { id, username } = await imported(SSHA);
  t.match(await users.checkPassword(username, OF_SSHA.normalize('NFD')), { id });
  t.match(await users.checkPassword(username, OF_SSHA), { id });
});

/** Runs `meanwhile` once, after the hash was checked and before it is replaced. */
function racing(meanwhile: () => Promise<unknown>) {
  let isOver = false;
  const store: UserStore = {
    ...options.store,
    async replacePasswordHash(...change) {
      if (!isOver) {
        isOver = true;
        await meanwhile();
      }
      return options.store.replacePasswordHash(...change);
    },
  };
  return createUserService({ ...options, store });
}

t.test('a password that is changed meanwhile wins', async (t) => {
  const { id, username } = await imported(SSHA);
  const other = racing(() => users.changePassword(id, { newPassword: PASSWORD }));
  t.match(await other.checkPassword(username, OF_SSHA), { epoch: 0 }, 'identity compares the epoch');
  t.equal(await users.checkPassword(username, OF_SSHA), undefined);
  t.match(await users.checkPassword(username, PASSWORD), { id, epoch: 1 });

  const third = await imported(SSHA);
  const fourth = racing(() => users.changePassword(third.id, { newPassword: PASSWORD }));
  const change = { newPassword: 'never set at all', currentPassword: OF_SSHA };
  t.ok((await failure(fourth.changePassword(third.id, change))) instanceof WrongPasswordError);
  t.match(await users.checkPassword(third.username, PASSWORD), { id: third.id });
});

t.test('two that replace it at the same time', async (t) => {
  const { id, username } = await imported(SSHA);
  const other = racing(() => users.checkPassword(username, OF_SSHA));
  await other.changePassword(id, { newPassword: PASSWORD, currentPassword: OF_SSHA });
  t.match(await users.checkPassword(username, PASSWORD), { id });
});

t.test('another change that is written meanwhile does not bring the old hash back', async (t) => {
  for (let round = 0; round < 20; round += 1) {
    const { id } = await imported(SSHA);
    const own = await options.passwords.hash(OF_SSHA);
    const changes = Array.from({ length: 10 }, (_, i) => users.update(id, { name: `Name ${i}` }));
    await users.read(id);
    t.equal(await options.store.replacePasswordHash(id, SSHA, own), true);
    await Promise.all(changes);
    t.equal(await hashIn(id), own);
  }
});

t.test('checks of imported hashes share the limit, and do not hold up others', async (t) => {
  const passwords = createPasswords({ concurrency: 1, maxWaiting: 1, memoryKiB: 64 });
  const results = await Promise.allSettled([
    passwords.verify(SSHA, OF_SSHA),
    passwords.hash('two'),
    passwords.verify(SSHA, OF_SSHA),
  ]);
  t.match(results, [{ value: true }, { status: 'fulfilled' }, { reason: { kind: 'unavailable' } }]);

  const slow = hashOf('$P$ETqEj6WU6YkbfMvWnYEBRWYNUF9rQc0');
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  t.equal(await passwords.verify(slow, 'wrong'), false);
  clearInterval(timer);
  t.ok(turns > 20, `the event loop ran ${turns} times during a check of phpass`);
});

t.test('checks that take much memory run one at a time', async (t) => {
  const passwords = createPasswords({ concurrency: 4, memoryKiB: 64 });
  const heavy = storedHash(`$argon2id$v=19$m=102400,t=1,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`);
  const before = process.memoryUsage.rss();
  let most = 0;
  const timer = setInterval(() => (most = Math.max(most, process.memoryUsage.rss() - before)), 2);
  await Promise.all([1, 2, 3, 4].map(() => passwords.verify(heavy, 'wrong')));
  clearInterval(timer);
  t.ok(most < 190 * 1024 * 1024, `${(most / 1024 / 1024).toFixed(0)} MiB for four of 100 MiB`);
});
