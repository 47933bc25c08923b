import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { createTestIssuer } from '@gatehouse/testing/test-issuer';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import { clientCredentialsGrant, createInternalClient } from '@gatehouse/tokens/internal-client';
import t, { type Test } from 'tap';
import { createEndedSubscriptions } from '../src/notifications/push/ended-subscriptions.ts';
import type { PushCredential, PushSubscription } from '../src/notifications/push/push-subscription.ts';
import { createPushSubscriptionStore } from '../src/notifications/push/push-subscription-store.ts';

const uri = monitored(await testDatabase(t));
const { store, connection } = await startTestDatabase(t, { uri, define: createPushSubscriptionStore });
const stored = connection.collection<{ _id: string }>('push_subscriptions');

const { issuer, client, ended, asked } = await createTestIssuer(t, 'notifications');
const identity = createInternalClient({
  service: 'identity',
  url: issuer,
  requestToken: clientCredentialsGrant({
    ...{ tokenUrl: `${issuer}/oauth2/token`, issuer },
    ...{ clientId: client.id, clientSecret: client.secret },
  }),
});

let made = 0;
async function register(by: Partial<PushCredential> = {}, endpoint = `https://push.example/${made}`) {
  made += 1;
  const now = new Date();
  const subscription: PushSubscription = {
    ...{ id: `psh_${made}`, userId: `usr_${made}`, endpoint, keys: { p256dh: 'x', auth: 'y' } },
    by: { clientId: 'app_1', grantId: null, epoch: { client: 0, subject: 0 }, ...by },
    ...{ version: 1, createdAt: now, updatedAt: now },
  };
  return store.put(subscription, 10);
}

/** As the service does when it starts, until every subscription that there is has been checked. */
async function check(t: Test, from = identity) {
  const task = createEndedSubscriptions({ store, identity: from, logger, retryMs: 20 });
  const before = new Date();
  task.start();
  t.teardown(task.stop);
  await until(async () => (await store.longestUnchecked(before, 1)).length === 0, 5000);
  await task.stop();
}
const ids = async () => (await stored.find().sort({ _id: 1 }).toArray()).map(({ _id }) => _id);
t.beforeEach(async () => void (await stored.deleteMany({})));

t.test('subscriptions whose end was missed are removed at the start, and the rest stays', async (t) => {
  const stays = await register({ grantId: 'gnt_stays' });
  await register({ grantId: 'gnt_ended' });
  await register({ clientId: 'app_ended' });
  const { userId } = await register();
  for (const id of ['gnt_ended', 'app_ended', userId]) ended.add(id);
  await check(t);
  t.same(await ids(), [stays.id]);
});

t.test('all pages are asked for, once a day', async (t) => {
  ended.add('gnt_page');
  const kept: string[] = [];
  for (let i = 0; i < 110; i += 1) {
    const { id } = await register(i % 2 === 0 ? { grantId: 'gnt_page' } : {});
    if (i % 2 === 1) kept.push(id);
  }
  const requests = () => asked.get('/internal/identity/ended-credentials') ?? 0;
  const before = requests();
  await check(t);
  t.same(await ids(), kept.sort());
  t.equal(requests() - before, 3);
  const [plan] = await explainQueries(connection, () => store.longestUnchecked(new Date(), 50));
  t.match(plan, { indexes: ['checked'], documents: 50 });
  const yesterday = new Date(Date.now() - 86_400_000);
  t.same(await store.longestUnchecked(yesterday, 50), []);
  await stored.updateOne({ _id: kept[3] as string }, { $set: { checked_at: new Date(0) } });
  t.match(await store.longestUnchecked(yesterday, 50), [{ id: kept[3] }]);
});

t.test('no subscription is asked about twice when the clock is set back', async (t) => {
  await register();
  await stored.updateMany({}, { $set: { checked_at: new Date(0) } });
  let requests = 0;
  const request: typeof identity.request = (...asked) => {
    requests += 1;
    return identity.request(...asked);
  };
  const task = createEndedSubscriptions({ store, identity: { request }, logger });
  const { now } = Date;
  t.teardown(() => Object.assign(Date, { now }));
  Date.now = () => now() - 3_600_000;
  task.start();
  await until(async () => (await store.longestUnchecked(new Date(1), 1)).length === 0, 2000);
  await task.stop();
  t.equal(requests, 1);
});

t.test('nothing goes while identity cannot be asked, or answers something else', async (t) => {
  ended.add('gnt_unknown');
  const { id } = await register({ grantId: 'gnt_unknown' });
  for (const response of [
    async () => Promise.reject(new Error('unreachable')),
    async () => ({ status: 403, body: {} }),
    async () => ({ status: 200, body: { ended: [] } }),
    async () => ({ status: 200, body: undefined }),
  ]) {
    let requests = 0;
    const request = () => {
      requests += 1;
      return response();
    };
    const task = createEndedSubscriptions({ store, identity: { request }, logger, retryMs: 5 });
    task.start();
    await until(() => requests >= 2, 2000);
    await task.stop();
    t.same(await ids(), [id]);
  }
  await check(t);
  t.same(await ids(), []);
});

t.test('one that is registered again while it is being asked about stays', async (t) => {
  ended.add('gnt_before');
  const { id, endpoint, updatedAt } = await register({ grantId: 'gnt_before' });
  await until(() => Date.now() > updatedAt.getTime(), 1000);
  await check(t, {
    async request(...asked) {
      const response = await identity.request(...asked);
      await register({ grantId: 'gnt_after' }, endpoint);
      return response;
    },
  });
  t.same(await ids(), [id]);
  t.match(await stored.findOne({ _id: id }), { grant_id: 'gnt_after' });
});
