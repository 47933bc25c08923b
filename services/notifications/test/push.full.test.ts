import { until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import webPush from 'web-push';
import { createPushProvider } from '../src/notifications/channels/push-provider.ts';
import { createNotificationsService } from '../src/service.ts';
import { ANN, BOB, build, TIMES } from './build.ts';
import { startPushService } from './push-service.ts';

const pushService = await startPushService(t);
const { publicKey, privateKey } = webPush.generateVAPIDKeys();
const push = { privateKey, subject: 'mailto:ops@example.org' };
const { base, call, notify, ended, issuer, mongodbUri } = await build(t, {
  providers: { push: { ...push, toPrivateNetworks: true } },
});
const PATH = '/api/v1/push-subscriptions';
const SCOPES = 'read:data write:data';
const [ann, bob] = [await issuer.person(ANN, 'user', SCOPES), await issuer.person(BOB, 'user', SCOPES)];

/** Registers a new subscription; returns its id and the path of its endpoint. */
async function subscribe(token: string) {
  const { path, subscription } = pushService.subscribe();
  const { status, body } = await call('POST', PATH, token, subscription);
  t.equal(status, 201);
  return { path, id: body.id, subscription };
}
const receivedAt = (path: string) => pushService.received.filter((it) => it.path === path);
const count = async (token: string) =>
  (await call('GET', `${PATH}?limit=100`, token)).body as unknown as object[];

t.test('who has no subscription gets nothing', async (t) => {
  t.match(await ended(await notify({ type: 'push' })), {
    status: 'failed',
    reason: 'The recipient has no push subscription.',
  });
  t.match(await call('GET', `${PATH}/public-key`, ann), { status: 200, body: { public_key: publicKey } });
});

t.test('client credentials and API keys register no browser', async (t) => {
  const machine = { sub: 'app_1', client_id: 'app_1', owner: ANN, roles: ['user'], scope: SCOPES };
  const { key } = issuer.apiKey({
    ...{ client_id: 'app_1', trusted: false, owner: ANN, role: 'user', scopes: SCOPES.split(' ') },
  });
  for (const token of [await issuer.sign(machine), await issuer.sign({ ...machine, given_by: BOB }), key]) {
    t.equal((await call('POST', PATH, token, pushService.subscribe().subscription)).status, 403);
    t.equal((await call('GET', PATH, token)).status, 403);
  }
});

t.test('a browser decrypts the message', async (t) => {
  const { path } = await subscribe(ann);
  const id = await notify({ type: 'push', priority: 'high', message: 'Your order is here 😀' });
  t.match(await ended(id), {
    status: 'sent',
    attempts: [{ outcome: 'accepted', provider_id: /\/message\// }],
  });
  t.match(receivedAt(path), [
    {
      message: { id, message: 'Your order is here 😀', truncated: false },
      headers: { urgency: 'high', ttl: '259200', topic: /^[\w-]{1,32}$/ },
    },
  ]);
  const long = await notify({ type: 'push', message: '😀'.repeat(4096) });
  t.match(await ended(long), { status: 'sent' });
  t.match(receivedAt(path).at(-1), { message: { id: long, message: /^(?:😀)+…$/u, truncated: true } });
});

t.test('a subscription that is gone is removed, and the others get the message', async (t) => {
  const [gone, there] = [await subscribe(ann), await subscribe(ann)];
  for (const status of [404, 410]) {
    pushService.responses.set(gone.path, status);
    if (status === 410) await call('POST', PATH, ann, gone.subscription);
    const before = (await count(ann)).length;
    t.match(await ended(await notify({ type: 'push' })), { status: 'sent' });
    t.equal((await count(ann)).length, before - 1, String(status));
  }
  t.equal(receivedAt(there.path).length, 2);
  t.equal(receivedAt(gone.path).length, 0);
});

t.test('when all are gone, the notification has failed', async (t) => {
  const { path } = await subscribe(bob);
  pushService.responses.set(path, 410);
  t.match(await ended(await notify({ type: 'push', user_id: BOB })), {
    status: 'failed',
    reason: /does not know the subscription any more/,
  });
  t.same(await count(bob), []);
});

t.test('a push service that fails is tried again', async (t) => {
  const { path, id } = await subscribe(bob);
  pushService.responses.set(path, 503);
  const notification = await notify({ type: 'push', user_id: BOB });
  await ended(notification, ['queued', 'sending']);
  setTimeout(() => pushService.responses.delete(path), 100);
  t.match(await ended(notification), { status: 'sent' });
  t.equal(receivedAt(path).length, 1);
  t.equal((await call('DELETE', `${PATH}/${id}`, bob)).status, 204);
});

t.test('a person has ten subscriptions, and an endpoint one person', async (t) => {
  const all = [];
  for (let i = 0; i < 12; i += 1) all.push(await subscribe(bob));
  t.equal((await count(bob)).length, 10);
  const last = all.at(-1);
  const again = await call('POST', PATH, bob, last?.subscription);
  t.equal(again.body.id, last?.id, 'the same endpoint again');
  t.equal((await call('POST', PATH, ann, last?.subscription)).status, 201);
  t.equal((await count(bob)).length, 9, 'the browser has another user now');
  const { subscription: other } = pushService.subscribe();
  const taken = { endpoint: last?.subscription.endpoint, keys: other.keys };
  t.equal((await call('POST', PATH, bob, taken)).status, 409, 'but nobody who has not its keys');
});

t.test('an application of a person sees and removes the subscriptions that it has registered', async (t) => {
  const own = await subscribe(ann);
  const of = (client_id: string) => issuer.sign({ sub: ANN, roles: ['user'], scope: SCOPES, client_id });
  const other = await of('app_other');
  t.same(await count(other), []);
  t.equal((await call('GET', `${PATH}/${own.id}`, other)).status, 404);
  t.equal((await call('DELETE', `${PATH}/${own.id}`, other)).status, 404);
  for (let i = 0; i < 11; i += 1) await subscribe(other);
  t.equal((await count(other)).length, 10, 'it displaces those of no other');
  t.equal((await call('GET', `${PATH}/${own.id}`, ann)).status, 200);
  await issuer.revoke({ kind: 'client', id: 'app_other', epoch: 1 });
});

t.test('one of several concurrent registrations of an endpoint remains', async (t) => {
  for (let i = 0; i < 5; i += 1) {
    const { subscription } = pushService.subscribe();
    const tokens = [ann, bob, ann, bob, ann, bob];
    const responses = await Promise.all(tokens.map((token) => call('POST', PATH, token, subscription)));
    t.same([...new Set(responses.map(({ status }) => status))], [201]);
    const all = await Promise.all([ann, bob].map(count));
    const found = all
      .flat()
      .filter((each) => (each as { endpoint?: string }).endpoint === subscription.endpoint);
    t.equal(found.length, 1);
  }
});

t.test('a subscription ends with the credential that registered it', async (t) => {
  const credential = { sub: BOB, roles: ['user'], scope: SCOPES };
  for (const [name, claims, revoked] of [
    ['a grant or login', { gid: 'gnt_1' }, { kind: 'grant', id: 'gnt_1' }],
    ['an application', { client_id: 'app_1' }, { kind: 'client', id: 'app_1', epoch: 1 }],
    ['an account', {}, { kind: 'subject', id: BOB, epoch: 1 }],
  ] as const) {
    const fresh = await issuer.sign({ ...credential, epoch: { client: 0, subject: 1 } });
    const before = (await count(fresh)).length;
    const { path } = await subscribe(await issuer.sign({ ...credential, ...claims }));
    const { path: other } = await subscribe(fresh);
    await issuer.revoke(revoked);
    await until(async () => (await count(fresh)).length <= before + 1, 5000).catch(() => {});
    t.equal(await ended(await notify({ type: 'push', user_id: BOB })).then(({ status }) => status), 'sent');
    t.equal(receivedAt(path).length, 0, name);
    t.equal(receivedAt(other).length, 1, `${name}: other credentials' stay`);
  }
});

t.test('a subscription ends with its account, also when the revocation was never heard of', async (t) => {
  const { path } = await subscribe(ann);
  const before = (await count(ann)).length;
  // Users is here without identity: nobody announces what it ends.
  const changed = await fetch(`${base}/v1/users/${ANN}/role`, {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${await issuer.machine('read:users write:users')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ role: 'editor' }),
  });
  t.equal(changed.status, 204, await changed.text());
  const { path: other } = await subscribe(
    await issuer.sign({ sub: ANN, roles: ['editor'], scope: SCOPES, epoch: { client: 0, subject: 1 } }),
  );
  t.match(await ended(await notify({ type: 'push', user_id: ANN })), { status: 'sent' });
  t.equal(receivedAt(path).length, 0);
  t.equal(receivedAt(other).length, 1);
  t.ok(before > 0 && (await count(ann)).length < before + 1, 'it is removed');
});

t.test(
  'a subscription ends with its credential, also when the service was away for too long to hear of it',
  async (t) => {
    const credential = { sub: BOB, roles: ['user'], scope: SCOPES, epoch: { client: 0, subject: 1 } };
    const token = await issuer.sign(credential);
    const { id } = await subscribe(await issuer.sign({ ...credential, gid: 'gnt_2' }));
    const { id: other } = await subscribe(token);
    // Not announced: a revocation is forgotten when the tokens that it ends have expired.
    issuer.ended.add('gnt_2');
    const restarted = createNotificationsService(
      {
        ...{
          publicUrl: issuer.issuer,
          identityUrl: issuer.issuer,
          clientSecret: issuer.client.secret,
          mongodbUri,
        },
        ...{ usersUrl: base, commerceUrl: base, notificationsUrl: base, rateLimit: 'off' },
        sending: { providers: {}, slots: 0, ...TIMES },
      },
      logger,
      { broadcast: issuer.broadcast },
    );
    t.teardown(() => restarted.stop());
    await restarted.start();
    const ids = async () => (await count(token)).map((each) => (each as { id: string }).id);
    await until(async () => !(await ids()).includes(id), 5000);
    t.ok((await ids()).includes(other));
  },
);

t.test('endpoints in private networks are neither registered nor reached', async (t) => {
  const strict = await build(t, { providers: { push: { ...push, toPrivateNetworks: false } } });
  const token = await strict.issuer.person(ANN, 'user', SCOPES);
  const { subscription } = pushService.subscribe();
  t.equal((await strict.call('POST', PATH, token, subscription)).status, 400);
  // As a name of the public internet may lead to loopback later on.
  const provider = createPushProvider({ vapid: push, toPrivateNetworks: false });
  t.teardown(() => provider.stop());
  const message = { id: 'ntf_1', text: 'Hello', isUrgent: false };
  // An address is not looked up; it may have been registered while the setting allowed it.
  for (const host of ['localhost', '127.0.0.1', '[::1]', '[::ffff:127.0.0.1]']) {
    const endpoint = subscription.endpoint.replace('localhost', host);
    const sent = provider.send(message, { ...subscription, endpoint }, AbortSignal.timeout(5000));
    await t.rejects(sent, { kind: 'gone', message: /not on the public internet/ }, host);
  }
});
