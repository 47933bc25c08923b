import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { readSettings } from '@gatehouse/core/config';
import { newId } from '@gatehouse/core/ids';
import { listen } from '@gatehouse/testing/listen';
import { startOtlpReceiver } from '@gatehouse/testing/otlp-receiver';
import { freePort, until } from '@gatehouse/testing/processes';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import { Webhook } from 'standardwebhooks';
import t, { type Test } from 'tap';
import { createAudit } from '../../../src/core/audit/audit.ts';
import { createAuditStore } from '../../../src/core/audit/audit-store.ts';
import { destinationsOf } from '../../../src/features/audit-export/destinations.ts';
import { createAuditExporter } from '../../../src/features/audit-export/exporter.ts';
import { auditExportSettings } from '../../../src/features/audit-export/settings.ts';
import { assertIndexed, withStores } from '../../store-set-up.ts';

const SECRET = 'the-token-of-the-collector';

/** A log in a database of its own, and a function that starts a replica's export to the destinations of the settings. */
async function setUp(t: Test, env: Record<string, string>, { keepDays = 30 } = {}) {
  const destinations = destinationsOf(readSettings(auditExportSettings, env));
  const names = destinations.map(({ name }) => name);
  const { store, connection } = await withStores(t, (it) => ({ store: createAuditStore(it, names) }));
  const { logger, text: logged } = recordingLogger();
  const audit = createAudit({ store, key: randomBytes(32), keepDays, logger, isExported: () => true });
  const record = (subject: string) => audit.record({ action: 'sign_in.succeeded', subject });
  const replica = () => {
    const exporters = destinations.map((destination) =>
      createAuditExporter({ connection, store, destination, logger }),
    );
    for (const { start, stop } of exporters) {
      start();
      t.teardown(stop);
    }
    return exporters;
  };
  const waiting = async () => (await Promise.all(names.map((name) => store.waiting(name, 9)))).flat().length;
  return { store, connection, record, replica, waiting, logged };
}

const otlp = async (t: Test) => {
  const collector = await startOtlpReceiver(t);
  const subjects = () => collector.logs().map(({ body }) => (body.user as { uid: string }).uid);
  const env = {
    IDENTITY_AUDIT_OTLP_ENDPOINT: `${collector.url}/`,
    IDENTITY_AUDIT_OTLP_HEADERS: `authorization=Bearer%20${SECRET}, x-tenant=a`,
  };
  return { ...collector, subjects, env };
};

t.test('entries go to a collector, also one that becomes visible late', async (t) => {
  const collector = await otlp(t);
  const { store, connection, record, replica, waiting } = await setUp(t, collector.env);
  const early = { id: newId('aud'), action: 'sign_in.failed', subject: 'usr_early', at: new Date() } as const;
  await record('usr_ann');
  const [exporter] = replica();
  await until(async () => (await waiting()) === 0 && collector.logs().length === 1, 10_000);
  t.match(collector.state.received, { authorization: `Bearer ${SECRET}`, 'x-tenant': 'a' });
  const [log] = collector.logs();
  t.match(log, {
    eventName: 'sign_in.succeeded',
    severityText: 'INFO',
    timeUnixNano: `${log?.body.time}000000`,
    body: { class_uid: 3002, user: { uid: 'usr_ann' }, metadata: { uid: log?.attributes['log.record.uid'] } },
  });

  // Its id was made before that of an entry that was already sent.
  await store.insert({ ...early, expiresAt: new Date(Date.now() + 86_400_000) });
  await until(async () => (await waiting()) === 0 && collector.logs().length === 2, 10_000);
  await exporter?.stop();
  t.match(collector.logs()[1], { severityText: 'WARN', attributes: { 'log.record.uid': early.id } });
  t.match(exporter?.state(), { exported: 2, rejected: 0, expired: 0 });
  const indexes = await assertIndexed(t, connection, () => store.waiting('otlp', 9));
  t.same(indexes, ['export']);
});

t.test('entries that are not accepted are sent again, after the pause of Retry-After', async (t) => {
  const collector = await otlp(t);
  const { record, replica, waiting, logged } = await setUp(t, collector.env);
  Object.assign(collector.state, { status: 429, headers: { 'retry-after': '3' } });
  await record('usr_ann');
  const [exporter] = replica();
  await until(() => collector.state.requests === 1, 10_000);
  const refusedAt = Date.now();
  await record('usr_ben');
  t.ok((exporter?.state().behindSeconds ?? 0) > 0);
  collector.state.status = 200;
  await until(() => collector.logs().length === 2, 10_000);
  t.ok(Date.now() - refusedAt > 2500, 'not after the pause of a second');
  t.same(collector.subjects(), ['usr_ann', 'usr_ben']);
  await until(async () => (await waiting()) === 0 && exporter?.state().behindSeconds === 0, 10_000);
  t.match(logged(), /it responded with 429/);
});

t.test('an entry that the receiver refuses holds up no other', async (t) => {
  const subjects = new Set<string>();
  const server = createServer(async (request, response) => {
    const body = await text(request);
    // As the firewall in front of a receiver does with a user agent that looks like an attack.
    const isRefused = body.includes('usr_poison');
    if (!isRefused) for (const [subject] of body.matchAll(/usr_\d/g)) subjects.add(subject);
    response.writeHead(isRefused ? 403 : 200).end();
  });
  const { record, replica, waiting, logged } = await setUp(t, {
    IDENTITY_AUDIT_OTLP_ENDPOINT: `http://127.0.0.1:${await listen(t, server)}`,
  });
  for (const name of ['0', 'poison', '1', '2']) await record(`usr_${name}`);
  const [exporter] = replica();
  await until(() => subjects.size === 3, 20_000);
  await until(async () => (await waiting()) === 1, 10_000);
  t.ok((exporter?.state().behindSeconds ?? 0) > 0, 'and it shows');
  t.match(logged(), /it responded with 403.*"count":1/);
});

t.test('entries that the collector rejects are counted, and not sent again', async (t) => {
  const collector = await otlp(t);
  const { record, replica, waiting, logged } = await setUp(t, collector.env);
  collector.state.body = '{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"too large"}}';
  await record('usr_ann');
  await record('usr_ben');
  const [exporter] = replica();
  await until(async () => (await waiting()) === 0, 10_000);
  t.match(exporter?.state(), { exported: 1, rejected: 1 });
  t.match(logged(), /the receiver has rejected entries/);
  t.equal(collector.state.requests, 1);
});

t.test('entries that expire before they are sent are counted', async (t) => {
  const { record, replica, waiting, logged } = await setUp(
    t,
    { IDENTITY_AUDIT_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}/${SECRET}` },
    { keepDays: 5 / 1440 },
  );
  for (let i = 0; i < 3; i += 1) await record('usr_ann');
  const [exporter] = replica();
  await until(() => exporter?.state().expired === 3, 10_000);
  t.equal(await waiting(), 0);
  t.equal(exporter?.state().exported, 0);
  t.match(logged(), /"lost":3,.*expired before they were exported/);
});

t.test('the log names the failure of a collector, and no part of its URL', async (t) => {
  const { record, replica, logged, waiting } = await setUp(t, {
    IDENTITY_AUDIT_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}/${SECRET}`,
    IDENTITY_AUDIT_OTLP_HEADERS: `authorization=Bearer%20${SECRET}`,
  });
  await record('usr_ann');
  replica();
  await until(() => logged().includes('the server refused the connection'), 10_000);
  t.notMatch(logged(), SECRET);
  t.equal(await waiting(), 1);
});

t.test('one of two replicas sends', async (t) => {
  const collector = await otlp(t);
  const { record, replica, waiting } = await setUp(t, collector.env);
  for (let i = 0; i < 250; i += 1) await record(`usr_${i}`);
  replica();
  replica();
  await until(async () => (await waiting()) === 0, 20_000);
  t.same(collector.subjects().toSorted(), Array.from({ length: 250 }, (_, i) => `usr_${i}`).toSorted());
  t.equal(collector.state.requests, 3, 'in batches');
});

t.test('a webhook gets signed events, the same ones under the same id', async (t) => {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const webhook = new Webhook(secret);
  const received: { id: unknown; message: unknown }[] = [];
  const server = createServer(async (request, response) => {
    const message = webhook.verify(await text(request), request.headers as Record<string, string>);
    received.push({ id: request.headers['webhook-id'], message });
    response.writeHead(received.length === 1 ? 500 : 204).end();
  });
  const url = `http://127.0.0.1:${await listen(t, server)}/hook`;
  const collector = await otlp(t);
  const env = { IDENTITY_AUDIT_WEBHOOK_URL: url, IDENTITY_AUDIT_WEBHOOK_SECRET: secret };
  const { record, replica, waiting } = await setUp(t, { ...env, ...collector.env });
  await record('usr_ann');
  replica();
  await until(async () => (await waiting()) === 0, 10_000);
  const [refused, accepted] = received;
  t.equal(received.length, 2);
  t.equal(refused?.id, accepted?.id);
  t.match(accepted?.message, {
    type: 'audit.recorded',
    data: { events: [{ class_uid: 3002, user: { uid: 'usr_ann' } }] },
  });
  t.same(collector.subjects(), ['usr_ann'], 'and no destination waits for another');
});
