import { randomBytes } from 'node:crypto';
import { untilFirstWrite } from '@gatehouse/core/dry-run';
import { createDatabase } from '@gatehouse/data/database';
import { until } from '@gatehouse/testing/processes';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { createAudit, hashLogin } from '../../../src/core/audit/audit.ts';
import { createAuditStore } from '../../../src/core/audit/audit-store.ts';
import { latestEntries } from '../../audit-entries.ts';
import { withStores } from '../../store-set-up.ts';

const { connection, store, logger } = await withStores(t, (it) => ({ store: createAuditStore(it) }));
const key = randomBytes(32);
const audit = createAudit({ store, key, keepDays: 30, logger });
t.teardown(() => audit.stop());
const origin = { address: '192.0.2.1', userAgent: 'Browser/1', requestId: 'req_1' };

t.test('who, what, when, from where', async (t) => {
  const from = Date.now();
  await audit.record({
    action: 'application.created',
    origin,
    subject: 'usr_ann',
    client: 'app_1',
    details: { scopes: ['read:data'] },
  });
  const [record] = await latestEntries(store, { subject: 'usr_ann' }, 10);
  t.match(record, {
    action: 'application.created',
    origin,
    subject: 'usr_ann',
    client: 'app_1',
    details: { scopes: ['read:data'] },
  });
  const at = record?.at.getTime() ?? 0;
  t.ok(at >= from && at <= Date.now());
  t.equal((record?.expiresAt.getTime() ?? 0) - at, 30 * 86_400_000);
});

t.test('a dry run records nothing, and lets others be recorded', async (t) => {
  const own = createAudit({ store, key, keepDays: 1, logger });
  const entry = { action: 'sign_out', origin, subject: 'usr_dry' } as const;
  const outcome = await untilFirstWrite(async () => {
    await own.record(entry);
    return 'recorded';
  });
  t.equal(outcome, undefined);
  await own.record({ ...entry, subject: 'usr_wet' });
  await until(async () => (await latestEntries(store, { subject: 'usr_wet' }, 1)).length === 1, 5000);
  await own.stop();
  t.same(await latestEntries(store, { subject: 'usr_dry' }, 1), []);
});

t.test(
  'entries that grant power are stored when it resolves, the rest a moment later or at the end',
  async (t) => {
    const own = createAudit({ store, key, keepDays: 1, logger });
    for (let i = 0; i < 5; i += 1)
      await own.record({ action: 'sign_in.succeeded', origin, subject: 'usr_ben' });
    t.same(await latestEntries(store, { subject: 'usr_ben' }, 10), []);
    await own.record({ action: 'password.changed', origin, subject: 'usr_ben' });
    t.equal((await latestEntries(store, { subject: 'usr_ben' }, 10)).length, 1);
    await own.stop();
    const records = await latestEntries(store, { subject: 'usr_ben' }, 10);
    t.same(
      records.map(({ action }) => action),
      ['password.changed', ...Array.from({ length: 5 }, () => 'sign_in.succeeded')],
      'in the order in which it happened, the latest first',
    );
    await audit.record({ action: 'sign_out', subject: 'usr_cleo' });
    await new Promise((resolve) => setTimeout(resolve, 600));
    t.match(await latestEntries(store, { subject: 'usr_cleo' }, 1), [
      { action: 'sign_out', origin: undefined },
    ]);
  },
);

t.test('a listener that fails is logged, and the next entry is heard', async (t) => {
  const { logger: loud, text } = recordingLogger('error');
  const heard: string[] = [];
  const own = createAudit({
    ...{ store, key, keepDays: 1, logger: loud },
    async onStored({ action }) {
      heard.push(action);
      if (action === 'sign_in.succeeded') throw new Error('the listener failed');
    },
  });
  await own.record({ action: 'sign_in.succeeded', origin, subject: 'usr_ida' });
  await own.record({ action: 'sign_out', subject: 'usr_ida' });
  await own.stop();
  t.same(heard, ['sign_in.succeeded', 'sign_out']);
  t.match(text(), /the listener failed.*a listener of the audit log failed/s);
});

t.test('a name that was typed is kept as a hash with a key', async (t) => {
  await audit.record({ action: 'sign_in.failed', origin, client: 'app_typed', login: 'my Passw0rd' });
  await audit.stop();
  const [record] = await latestEntries(store, { client: 'app_typed' }, 1);
  t.equal(record?.loginHash, hashLogin(key, 'MY passw0rd'));
  t.not(record?.loginHash, hashLogin(randomBytes(32), 'my passw0rd'));
  t.notMatch(JSON.stringify(await connection.collection('audit_log').find({}).toArray()), /passw0rd/i);
});

t.test(
  'without its database it keeps nobody from signing in, and lets nobody get power unseen',
  async (t) => {
    const { logger: loud, text } = recordingLogger('error');
    const away = createDatabase({ uri: 'mongodb://127.0.0.1:9/none', name: 'none', logger });
    const own = createAudit({ store: createAuditStore(away.connection), key, keepDays: 1, logger: loud });
    await own.record({ action: 'sign_in.succeeded', origin, subject: 'usr_dan' });
    await t.rejects(own.record({ action: 'consent.granted', origin, subject: 'usr_dan' }));
    await own.stop();
    t.match(text(), /entries of the audit log were lost/);
  },
);

t.test(
  'entries that are exported are stored when it resolves, and nobody is kept from signing in',
  async (t) => {
    const isExported = () => true;
    const own = createAudit({ store, key, keepDays: 1, logger, isExported });
    await own.record({ action: 'sign_in.succeeded', origin, subject: 'usr_fay' });
    t.equal((await latestEntries(store, { subject: 'usr_fay' }, 10)).length, 1);
    const { logger: loud, text } = recordingLogger('error');
    const insertMany = () => Promise.reject(new Error('away'));
    const away = createAudit({ store: { ...store, insertMany }, key, keepDays: 1, logger: loud, isExported });
    await away.record({ action: 'sign_in.succeeded', origin, subject: 'usr_fay' });
    t.match(text(), /entries of the audit log were lost/);
  },
);

t.test('who did it is who is signed in, unless it is said', async (t) => {
  const own = createAudit({ store, key, keepDays: 1, logger });
  const action = 'session.ended';
  await own.record({ action, origin, subject: 'usr_eve' });
  await own.record({ action, origin, subject: 'usr_eve', actor: 'usr_root' });
  await own.record({ action, origin, subject: 'usr_eve', actor: null });
  await own.record({ action, subject: 'usr_eve' });
  await own.stop();
  const entries = await latestEntries(store, { subject: 'usr_eve' }, 9);
  t.same(
    entries.map(({ actor }) => actor),
    [undefined, undefined, 'usr_root', 'usr_eve'],
  );
});
