import { createHash } from 'node:crypto';
import t from 'tap';
import { createOneTimeLinks } from '../../../src/core/accounts/one-time-link.ts';
import { createOneTimeLinkStore } from '../../../src/core/accounts/one-time-link-store.ts';
import { assertIndexed, withStores } from '../../store-set-up.ts';

const { connection, store } = await withStores(t, (it) => ({ store: createOneTimeLinkStore(it) }));
const links = createOneTimeLinks(store);
const collection = connection.collection('one_time_links');
const ann = { userId: 'usr_ann', email: 'ann@example.org', epoch: 3 };

t.test('a link can be looked at many times, and used once', async (t) => {
  const token = await links.issue({ purpose: 'new_password', ...ann, seconds: 60 });
  t.match(token, /^[\w-]{43}$/);
  t.match(await links.peek('new_password', token), ann);
  t.match(await links.peek('new_password', token), ann);
  t.equal(await links.peek('verify_email', token), undefined, 'for nothing else');
  t.equal(await links.consume('verify_email', token), undefined, 'for nothing else');
  const used = await Promise.all(Array.from({ length: 20 }, () => links.consume('new_password', token)));
  t.match(
    used.filter((it) => it !== undefined),
    [ann],
    'of many at once, one gets it',
  );
  t.equal(await links.peek('new_password', token), undefined);
});

t.test('one that was used for nothing works again, unless there is a later one', async (t) => {
  const draft = { purpose: 'new_password', ...ann, userId: 'usr_back', seconds: 60 } as const;
  const token = await links.issue(draft);
  const before = await links.consume('new_password', token);
  if (before === undefined) return t.fail('the link is lost');
  await links.restore('new_password', token, before);
  t.strictSame(await links.consume('new_password', token), before, 'with the time that it had');
  const later = await links.issue(draft);
  await links.restore('new_password', token, before);
  t.equal(await links.peek('new_password', token), undefined);
  t.match(await links.consume('new_password', later), { userId: 'usr_back' });
});

t.test('a new link voids the earlier of the same purpose and person', async (t) => {
  const draft = { purpose: 'verify_email', ...ann, seconds: 60 } as const;
  const first = await links.issue(draft);
  const other = await links.issue({ ...draft, userId: 'usr_ben' });
  const password = await links.issue({ ...draft, purpose: 'new_password' });
  const second = await links.issue({ ...draft, email: 'new@example.org' });
  t.equal(await links.consume('verify_email', first), undefined);
  t.match(await links.consume('verify_email', second), { email: 'new@example.org' });
  t.match(await links.consume('verify_email', other), { userId: 'usr_ben' });
  t.match(await links.consume('new_password', password), ann);
});

t.test('one of many links that are requested at once is left', async (t) => {
  const draft = { purpose: 'new_password', ...ann, userId: 'usr_many', seconds: 60 } as const;
  const tokens = await Promise.all(Array.from({ length: 10 }, () => links.issue(draft)));
  const living = await Promise.all(tokens.map((token) => links.peek('new_password', token)));
  t.equal(living.filter((it) => it !== undefined).length, 1);
});

t.test('an expired link is none, whether or not it has been swept', async (t) => {
  const token = await links.issue({ purpose: 'new_password', ...ann, seconds: 0 });
  t.equal(await links.peek('new_password', token), undefined);
  t.equal(await links.consume('new_password', token), undefined);
});

t.test('the stored values of a link open nothing', async (t) => {
  const token = await links.issue({ purpose: 'new_password', ...ann, seconds: 60 });
  const stored = await collection.findOne({ user_id: ann.userId });
  t.notMatch(JSON.stringify(stored), new RegExp(token));
  t.equal(stored?.token_hash, createHash('sha256').update(token).digest('base64url'));
  for (const wrong of [String(stored?.token_hash), '', 'x', `${token}x`, 'x'.repeat(43), '$ne'])
    t.equal(await links.consume('new_password', wrong), undefined, wrong);
});

t.test('every query uses an index', (t) =>
  assertIndexed(t, connection, async () => {
    const token = await links.issue({ purpose: 'new_password', ...ann, seconds: 60 });
    await links.peek('new_password', token);
    const link = await links.consume('new_password', token);
    if (link === undefined) return;
    await links.restore('new_password', token, link);
  }),
);
