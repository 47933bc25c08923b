import { newId } from '@gatehouse/core/ids';
import type { ServiceName } from '@gatehouse/core/services';
import { createJetStreamEvents } from '@gatehouse/events/jetstream-events';
import { createNatsBroadcast } from '@gatehouse/events/nats-broadcast';
import { minuteOf, type UsageBatch, usageSubject } from '@gatehouse/server/usage/usage-batch';
import { skip, startNatsWithPermissions } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import { startTestService } from '@gatehouse/testing/test-service';
import t from 'tap';
import { createNotificationsService } from '../../src/service.ts';
import { type AnalyticsBody, batchOf, PATH, requestsOf, SCOPE } from './build.ts';

t.test('over NATS, with the accounts of deploy/docker/nats.conf', { skip }, async (t) => {
  const nats = await startNatsWithPermissions(t);
  const { call, issuer } = await startTestService<AnalyticsBody>(t, 'notifications', (config) =>
    createNotificationsService(
      {
        ...config,
        usersUrl: config.ownUrl,
        commerceUrl: config.ownUrl,
        notificationsUrl: config.ownUrl,
        sending: { providers: {}, slots: 1 },
        natsUrl: nats.urlOf('notifications'),
      },
      logger,
    ),
  );
  const machine = await issuer.machine(SCOPE);
  const totalOf = async (query: string) =>
    (await call('GET', `${PATH}?interval=day&${query}`, machine)).body.total ?? 0;

  async function connectAs(name: ServiceName) {
    const broadcast = createNatsBroadcast({ url: nats.urlOf(name), name, logger });
    await broadcast.start();
    t.teardown(() => broadcast.stop());
    await until(() => broadcast.connection() !== undefined, 5000);
    return broadcast.connection;
  }
  const senders = await Promise.all(
    (['identity', 'users', 'items', 'commerce', 'notifications'] as const).map(async (name) => ({
      name,
      events: createJetStreamEvents({ connection: await connectAs(name) }),
    })),
  );
  const eventOf = (batch: UsageBatch, name = batch.service) => ({
    ...{ id: batch.id, subject: usageSubject(name), at: new Date(), data: batch },
  });
  /** Until it succeeds, as services do. */
  async function send(events: (typeof senders)[number]['events'], batch: UsageBatch): Promise<void> {
    let isSent = false;
    await until(async () => {
      isSent = await events.publish(eventOf(batch)).then(
        () => true,
        () => false,
      );
      return isSent;
    }, 20_000);
  }

  await t.test('the counts of each service arrive, also while NATS is killed', async (t) => {
    const clients = async () => {
      for (let i = 0; i < 10; i += 1) {
        await Promise.all(
          senders.map(({ name, events }) =>
            send(events, batchOf({ service: name, requests: [requestsOf()] })),
          ),
        );
        if (i === 5) {
          await nats.kill();
          await nats.start();
        }
      }
    };
    await clients();
    await until(async () => (await totalOf('metric=requests&client_id=app_a')) === 50, 20_000);
    for (const { name } of senders) {
      const { body } = await call(
        'GET',
        `${PATH}?metric=requests&interval=day&group_by=service&client_id=app_a`,
        machine,
      );
      t.match(
        body.totals.find(({ service }) => service === name),
        { value: 10 },
        name,
      );
    }
  });

  await t.test('no service sends the usage of another', async (t) => {
    const forged = senders
      .filter(({ name }) => name !== 'notifications')
      .flatMap(({ name, events }) =>
        senders
          .filter((it) => it.name !== name)
          .map(({ name: other }) => {
            const batch = batchOf({ service: other, requests: [requestsOf({ client: 'app_forged' })] });
            return t.rejects(events.publish(eventOf(batch)), `${name} as ${other}`);
          }),
      );
    // All at once, since each waits for a response that NATS does not give.
    await Promise.all(forged);
    t.equal(await totalOf('metric=requests&client_id=app_forged'), 0);
  });

  await t.test('orders come from the stream of commerce', async (t) => {
    const commerce = createJetStreamEvents({
      connection: await connectAs('commerce'),
      stream: {
        name: 'COMMERCE',
        subjects: ['commerce.>'],
        consumers: [{ name: 'notifications_analytics', filter: 'commerce.order.*' }],
      },
    });
    const created_at = new Date(minuteOf(Date.now()) * 60_000).toISOString();
    const publish = (version: number, total_amount: number, subject = 'commerce.order.created') => {
      const data = {
        id: `ord_${total_amount}`,
        version,
        status: 'pending',
        currency: 'EUR',
        total_amount,
        created_at,
      };
      return commerce.publish({ id: newId('evt'), subject, at: new Date(), data });
    };
    await publish(1, 10);
    await publish(1, 20);
    await publish(1, 99, 'commerce.product.changed');
    await publish(2, 10, 'commerce.order.changed');
    await until(async () => (await totalOf('metric=revenue')) === 30, 20_000);
    t.equal(await totalOf('metric=orders'), 2);
  });
});
