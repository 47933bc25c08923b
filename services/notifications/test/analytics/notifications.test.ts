import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { freePort } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import { createNotificationCounts } from '../../src/notifications/store/notification-counts.ts';
import { build } from '../build.ts';

t.test(
  'notifications are counted where they are; integrations are the providers that are configured',
  async (t) => {
    const port = await freePort();
    const { call, machine, notify, mongodbUri, issuer } = await build(t, {
      slots: 0,
      providers: {
        email: { smtpUrl: `smtp://user:secret@127.0.0.1:${port}`, from: 'gatehouse@example.org' },
        sms: { url: `http://user:secret@127.0.0.1:${port}/sms`, from: '+15005550006' },
      },
    });
    await notify();
    await notify();
    await notify({ type: 'sms' });
    const cancelled = await notify({ type: 'sms' });
    await call('PUT', `/v2/notifications/${cancelled}`, machine, { status: 'cancelled' });
    const ask = async (query: string) => {
      const { body } = await call('GET', `/api/v1/analytics?metric=notifications&${query}`, machine);
      return body as unknown as { total: number; totals: object[]; as_of: string; data: { value: number }[] };
    };
    for (const interval of ['minute', 'hour', 'day']) {
      const { total, as_of, data } = await ask(`interval=${interval}`);
      t.equal(total, 4, interval);
      t.ok(Date.now() - Date.parse(as_of) < 5000);
      t.equal(
        data.reduce((sum, { value }) => sum + value, 0),
        4,
      );
    }
    t.same((await ask('group_by=type')).totals, [
      { type: 'email', value: 2 },
      { type: 'sms', value: 2 },
    ]);
    t.match((await ask('group_by=status')).totals, [{ status: 'queued', value: 3 }, { value: 1 }]);

    const { body, text } = await call('GET', '/v2/integrations', machine);
    t.match(body.data, [
      { id: 'email', name: 'SMTP', configured: true, status: 'error', message: String },
      { id: 'sms', configured: true, status: 'error', message: String },
      { id: 'push', configured: false, status: 'unconfigured', checked_at: null },
      { id: 'metrics' },
      { id: 'queue', status: 'ok' },
      { id: 'database', status: 'ok' },
    ]);
    t.notMatch(text, new RegExp(`secret|${port}|127\\.0\\.0\\.1|example\\.org|5005550006`));
    t.equal(
      (await call('GET', '/v2/integrations', await issuer.person('usr_1', 'user', 'read:data'))).status,
      403,
    );

    const { store: count, connection } = await startTestDatabase(t, {
      uri: monitored(mongodbUri),
      define: createNotificationCounts,
    });
    const [from, to] = [new Date(Date.now() - 3_600_000), new Date(Date.now() + 1000)];
    const [plan] = await explainQueries(connection, () => count({ interval: 'hour', from, to }));
    t.match(plan, { indexes: ['counts'], documents: 0, keys: 4 });
  },
);
