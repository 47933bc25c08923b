import { setImmediate } from 'node:timers/promises';
import { ServiceError } from '@gatehouse/core/errors';
import { newApiKey } from '@gatehouse/tokens/api-key';
import { createApiKeyResolver, type ResolvedKey } from '@gatehouse/tokens/api-keys';
import { createRevocationSet, type Revocation } from '@gatehouse/verify/revocations';
import t from 'tap';
import { pass } from './callers.ts';

const NOW = Math.floor(Date.now() / 1000);
const LATER = NOW + 3600;
const INVALID = { name: 'ServiceError', kind: 'unauthenticated', message: 'The API key is not valid.' };

const OWNED: ResolvedKey = {
  id: 'key_1',
  client_id: 'app_1',
  scopes: ['read:data', 'write:data'],
  trusted: false,
  owner: 'usr_9',
  role: 'editor',
  epoch: { client: 5, subject: 7 },
  expires_at: null,
};

/** A resolver of one key; what identity answers can be changed. */
function setUp(response: ResolvedKey | undefined = OWNED, cacheSize?: number) {
  const { key, hash } = newApiKey();
  const identity = {
    response: async (_hash: string): Promise<ResolvedKey | undefined> => response,
    asked: [] as string[],
  };
  const set = createRevocationSet();
  const resolver = createApiKeyResolver({
    resolve: (hash) => {
      identity.asked.push(hash);
      return identity.response(hash);
    },
    set,
    ...(cacheSize === undefined ? {} : { cacheSize }),
  });
  return { key, hash, identity, set, resolver };
}

t.test('the caller of a key', async (t) => {
  const { resolver, key, hash, identity } = setUp();
  const caller = {
    subject: 'app_1',
    clientId: 'app_1',
    scopes: new Set(['read:data', 'write:data']),
    person: { id: 'usr_9', role: 'editor' },
    tokenId: undefined,
    grantId: undefined,
    keyId: 'key_1',
    actor: undefined,
    keyThumbprint: undefined,
    profiles: {},
    epoch: { client: 5, subject: 7 },
    authTime: undefined,
  };
  const { expiresAt, issuedAt, ...rest } = await resolver.verify(key);
  t.strictSame(rest, caller);
  t.ok(Math.abs(issuedAt - NOW) < 5);
  t.equal(expiresAt, issuedAt + 60);
  await resolver.verify(key);
  t.strictSame(identity.asked, [hash], 'it is resolved once');
});

const CALLERS: [label: string, change: Partial<ResolvedKey>, expected: object][] = [
  ['trusted', { trusted: true }, { person: undefined, subject: 'app_1' }],
  ['trusted, of nobody', { trusted: true, owner: null, role: null }, { person: undefined }],
  ['of an owner without a role', { role: null }, { person: { id: 'usr_9', role: 'user' } }],
  ['with pins', { profiles: { items: 'cursor', v1_users: 1 } }, { profiles: { items: 'cursor' } }],
  ['without an epoch of the owner', { epoch: { client: 2 } }, { epoch: { client: 2, subject: 0 } }],
  ['with an end', { expires_at: new Date(LATER * 1000).toISOString() }, { expiresAt: LATER }],
];

t.test('callers of other keys', async (t) => {
  for (const [label, change, expected] of CALLERS) {
    const { resolver, key } = setUp({ ...OWNED, ...change });
    const caller = { ...(await resolver.verify(key)) };
    t.strictSame({ ...caller, ...expected }, caller, label);
  }
});

t.test('keys that do not hold', async (t) => {
  const { resolver, key, identity } = setUp();
  for (const text of ['', 'gatehouse_', `${key}0`, key.slice(0, -1), 'eyJ.eyJ.x']) {
    await t.rejects(resolver.verify(text), INVALID, text.slice(0, 12));
  }
  t.equal(identity.asked.length, 0, 'what was mistyped is not asked for');

  identity.response = async () => undefined;
  await t.rejects(resolver.verify(key), INVALID, 'unknown');
  await t.rejects(resolver.verify(key), INVALID, 'unknown, again');
  t.equal(identity.asked.length, 1, 'it is asked for once');
  identity.response = async () => OWNED;
  await pass(t, 6);
  t.match(await resolver.verify(key), { keyId: 'key_1' }, 'and again after some seconds');

  const owned = setUp({ ...OWNED, owner: null });
  await t.rejects(owned.resolver.verify(owned.key), INVALID, 'neither trusted nor owned');
  for (const expires_at of [new Date((NOW - 1) * 1000).toISOString(), 'never']) {
    const { resolver, key } = setUp({ ...OWNED, expires_at });
    await t.rejects(resolver.verify(key), INVALID, `ends ${expires_at}`);
    await t.rejects(resolver.verify(key), INVALID, `ends ${expires_at}, again`);
  }
});

t.test('the challenge of a key that does not hold', async (t) => {
  const { resolver } = setUp();
  const headers = { 'www-authenticate': 'Bearer realm="gatehouse", error="invalid_token"' };
  await t.rejects(resolver.verify('x'), { name: 'ServiceError', headers });
});

t.test('a key is resolved again after a minute, and ends at its end', async (t) => {
  const { resolver, key, identity } = setUp({
    ...OWNED,
    expires_at: new Date((NOW + 90) * 1000).toISOString(),
  });
  await resolver.verify(key);
  await pass(t, 55);
  await resolver.verify(key);
  t.equal(identity.asked.length, 1);
  await pass(t, 10);
  await resolver.verify(key);
  t.equal(identity.asked.length, 2);
  await pass(t, 40);
  await t.rejects(resolver.verify(key), INVALID);
});

t.test('a key that ends while it is kept', async (t) => {
  const { resolver, key } = setUp({ ...OWNED, expires_at: new Date((NOW + 20) * 1000).toISOString() });
  await resolver.verify(key);
  await pass(t, 21);
  await t.rejects(resolver.verify(key), INVALID);
});

const REVOCATIONS: [label: string, entry: Omit<Revocation, 'expiresAt'>, hits: boolean][] = [
  ['the key', { kind: 'api_key', id: 'key_1' }, true],
  ['another key', { kind: 'api_key', id: 'key_2' }, false],
  ['a token of that id', { kind: 'token', id: 'key_1' }, false],
  ['the client', { kind: 'client', id: 'app_1', epoch: 6 }, true],
  ['the client, this epoch', { kind: 'client', id: 'app_1', epoch: 5 }, false],
  ['the owner', { kind: 'subject', id: 'usr_9', epoch: 8 }, true],
  ['the owner, this epoch', { kind: 'subject', id: 'usr_9', epoch: 7 }, false],
  ['another person', { kind: 'subject', id: 'usr_8', epoch: 99 }, false],
];

t.test('a revocation drops the answer at once', async (t) => {
  for (const [label, entry, hits] of REVOCATIONS) {
    const { resolver, key, identity, set } = setUp();
    await resolver.verify(key);
    identity.response = async () => undefined;
    set.add({ ...entry, expiresAt: LATER });
    if (hits) await t.rejects(resolver.verify(key), INVALID, label);
    else t.match(await resolver.verify(key), { keyId: 'key_1' }, label);
    t.equal(identity.asked.length, hits ? 2 : 1, label);
  }
});

t.test('a key outlives what raised an epoch', async (t) => {
  const { resolver, key, identity, set } = setUp();
  await resolver.verify(key);
  set.add({ kind: 'subject', id: 'usr_9', epoch: 8, expiresAt: LATER });
  identity.response = async () => ({ ...OWNED, role: 'user', epoch: { client: 5, subject: 8 } });
  t.match(await resolver.verify(key), { person: { role: 'user' } });
  await resolver.verify(key);
  t.equal(identity.asked.length, 2, 'it is resolved once more');
});

t.test('an answer that was on its way when the revocation came', async (t) => {
  const { resolver, key, identity, set } = setUp();
  const first = Promise.withResolvers<ResolvedKey>();
  identity.response = () => first.promise;
  const waiting = [resolver.verify(key), resolver.verify(key), resolver.verify(key)];
  await setImmediate();
  set.add({ kind: 'api_key', id: 'key_1', expiresAt: LATER });
  identity.response = async () => undefined;
  first.resolve(OWNED);
  for (const verified of waiting) await t.rejects(verified, INVALID);
  t.equal(identity.asked.length, 2, 'the second question is put after the revocation, once');
  await t.rejects(resolver.verify(key), INVALID);

  const stubborn = setUp();
  stubborn.set.add({ kind: 'api_key', id: 'key_1', expiresAt: LATER });
  for (const time of ['once', 'again'])
    await t.rejects(stubborn.resolver.verify(stubborn.key), INVALID, time);
  t.equal(stubborn.identity.asked.length, 4, 'what says that a dead key lives is never kept');

  const raised = setUp();
  const late = Promise.withResolvers<ResolvedKey>();
  raised.identity.response = () => late.promise;
  const verified = raised.resolver.verify(raised.key);
  await setImmediate();
  raised.set.add({ kind: 'subject', id: 'usr_9', epoch: 8, expiresAt: LATER });
  raised.identity.response = async () => ({ ...OWNED, epoch: { client: 5, subject: 8 } });
  late.resolve(OWNED);
  t.match(await verified, { epoch: { subject: 8 } }, 'a live key gets its new epoch without an error');
});

t.test('identity is away', async (t) => {
  const { resolver, key, identity } = setUp();
  identity.response = () => Promise.reject(new Error('hidden'));
  const away = {
    name: 'ServiceError',
    kind: 'unavailable',
    message: 'The API key cannot be checked at the moment.',
  };
  await t.rejects(resolver.verify(key), away);
  identity.response = () => Promise.reject(new ServiceError('unavailable', 'Away.'));
  await t.rejects(resolver.verify(key), { name: 'ServiceError', kind: 'unavailable', message: 'Away.' });
  identity.response = async () => OWNED;
  t.match(await resolver.verify(key), { keyId: 'key_1' }, 'which is not kept');
  identity.response = () => Promise.reject(new Error('hidden'));
  t.match(await resolver.verify(key), { keyId: 'key_1' }, 'what is known serves on');
});

t.test('beforeVerification can refuse a key that is not cached', async (t) => {
  const { resolver, key, identity } = setUp();
  const refuse = () => Promise.reject(new Error('over quota'));
  await t.rejects(resolver.verify(key, refuse), { message: 'over quota' });
  await t.rejects(resolver.verify('gatehouse_x', refuse), INVALID, 'what is no key costs nothing');
  t.equal(identity.asked.length, 0);
  await resolver.verify(key);
  t.match(await resolver.verify(key, refuse), { keyId: 'key_1' });
});

t.test('so many keys are kept, and bad ones put out no good ones', async (t) => {
  const { resolver, key, identity } = setUp(OWNED, 2);
  await resolver.verify(key);
  identity.response = async () => undefined;
  for (let i = 0; i < 5; i += 1) await t.rejects(resolver.verify(newApiKey().key), INVALID);
  await resolver.verify(key);
  t.equal(identity.asked.length, 6);
  identity.response = async () => OWNED;
  for (let i = 0; i < 2; i += 1) await resolver.verify(newApiKey().key);
  await resolver.verify(key);
  t.equal(identity.asked.length, 9, 'the oldest is put out');
});
