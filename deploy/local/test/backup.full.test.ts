import { execFile, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createDatabase } from '@gatehouse/data/database';
import { startLocalMongo } from '@gatehouse/local-mongo/start';
import { loginToken } from '@gatehouse/testing/json-request';
import { skip } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import t, { type Test } from 'tap';
import { databaseUri } from '../src/database-uri.ts';
import { ADMIN, listStatus, NAMES, type Name, startCluster, tokenFrom } from './cluster.ts';
import { temporaryDir } from './gatehouse.ts';
import { prepareWorkload } from './workload.ts';

const SCRIPT = resolve(import.meta.dirname, '../../kubernetes/backup/backup.sh');
const LOAD_MS = 5000;
/** As many requests as the workload has clients. */
const IN_FLIGHT = 4;
/** Jobs are published again when they are a minute overdue, by a sweep every half minute. */
const SENT_WITHIN_MS = 240_000;

/** A gateway for SMS that refuses every message until it is opened, and records those that it accepts. */
async function smsGateway(t: Test) {
  const accepted: string[] = [];
  let isOpen = false;
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => {
      if (isOpen) accepted.push(new URLSearchParams(text).get('Body') ?? '');
      response.writeHead(isOpen ? 201 : 503).end(JSON.stringify({ sid: `SM${accepted.length}` }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return {
    accepted,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open() {
      isOpen = true;
    },
  };
}

t.test(
  'a backup of a moment, made under writes, is restored into an empty deployment',
  { skip },
  async (t) => {
    const dataDir = temporaryDir(t);
    const copy = join(temporaryDir(t), 'copy');
    const startMongo = () => startLocalMongo({ dataDir, env: process.env, logger });
    let mongo = await startMongo();
    t.teardown(() => mongo.stop());
    const { uri } = mongo;
    const gateway = await smsGateway(t);
    const { nats, identity, users, others } = await startCluster(
      t,
      { NOTIFICATIONS_SMS_URL: gateway.url, NOTIFICATIONS_SMS_FROM: '+49301' },
      ['items', 'commerce', 'notifications'],
      { databaseOf: (name) => databaseUri(uri, name) },
    );
    const nodes = { identity, users, ...others };
    const origins = Object.fromEntries(NAMES.map((name) => [name, nodes[name].base])) as Record<Name, string>;
    const failures: string[] = [];
    const workload = await prepareWorkload(origins, (failure) => failures.push(failure));
    const database = createDatabase({ uri: databaseUri(uri, 'users'), name: 'users', logger });
    await database.start();
    await database.connection
      .collection<{ _id: string }>('users')
      .updateOne({ _id: workload.recipientId }, { $set: { phone: '+49301234567' } });
    await database.stop();
    const tokens = [await tokenFrom(identity.base), await loginToken(identity.base, ADMIN)];
    workload.start();
    await sleep(LOAD_MS);

    // docker pause mongo; cp; docker unpause mongo
    process.kill(mongo.pid ?? 0, 'SIGSTOP');
    await promisify(execFile)('cp', ['-r', join(dataDir, 'mongodb'), copy]);
    const before = workload.acknowledged.slice();
    process.kill(mongo.pid ?? 0, 'SIGCONT');
    await until(() => workload.acknowledged.length > before.length + 100, 60_000);
    await workload.stop();
    t.same(failures, [], `none of ${workload.requests()} requests has failed`);
    const after = workload.acknowledged.slice(before.length);
    t.comment(`${before.length} writes acknowledged before or during the copy, ${after.length} after`);
    t.same(await workload.lost(), [], 'the backup itself loses nothing');

    await Promise.all(Object.values(nodes).map((node) => node.kill()));
    process.kill(mongo.pid ?? 0, 'SIGKILL');
    await mongo.stop();
    await nats.kill();
    rmSync(nats.folder, { recursive: true });
    rmSync(join(dataDir, 'mongodb'), { recursive: true });
    await promisify(execFile)('cp', ['-r', copy, join(dataDir, 'mongodb')]);
    mongo = await startMongo();
    await nats.start();
    gateway.open();
    await Promise.all(Object.values(nodes).map((node) => node.restart()));

    for (const token of [...tokens, await tokenFrom(identity.base), await loginToken(identity.base, ADMIN)])
      t.equal(await listStatus(users.base, token), 200, 'tokens of before and after are accepted');
    t.same(await workload.lost(before), [], 'everything from before the backup is there');
    const restored = after.length - (await workload.lost(after)).length;
    t.ok(restored <= IN_FLIGHT, `of later only what waited for its response: ${restored}`);

    const orders = before.filter(({ service }) => service === 'commerce');
    const { stock } = await workload.call('commerce', 'GET', `/v2/products/${workload.productId}`);
    const withoutResponse = (1_000_000 - Number(stock)) / 3 - orders.length;
    t.ok(
      Number.isInteger(withoutResponse) && withoutResponse >= 0 && withoutResponse <= IN_FLIGHT,
      'the stock is that of the orders',
    );

    const messages = before.filter(({ service }) => service === 'notifications').length;
    await until(() => gateway.accepted.length >= messages, SENT_WITHIN_MS).catch(() => {});
    t.ok(gateway.accepted.length >= messages, `every notification that waited is sent: ${messages}`);
    t.equal(new Set(gateway.accepted).size, gateway.accepted.length, 'once');

    const more = await prepareWorkload(origins, (failure) => t.fail(failure));
    more.start();
    await until(() => more.acknowledged.length > 50, 20_000);
    await more.stop();
    t.same(await more.lost(), [], 'the services work with what was restored');
  },
);

const missing = ['mongodump', 'mongorestore'].filter((it) => spawnSync(it, ['--version']).status !== 0);
const noTools = missing.length > 0 && `these programs are not there: ${missing.join(', ')}`;

t.test('the archive that the CronJob makes', { skip: skip || noTools }, async (t) => {
  // In lower case, into which the programs put the path of a socket.
  const dataDir = temporaryDir(t).toLowerCase();
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  const folder = temporaryDir(t);
  let mongo = await startLocalMongo({ dataDir, env: process.env, logger });
  t.teardown(() => mongo.stop());
  const { uri } = mongo;
  const { identity, users } = await startCluster(t, {}, [], { databaseOf: (name) => databaseUri(uri, name) });
  const token = await loginToken(identity.base, ADMIN);

  // The engine is no replica set, and has no oplog.
  const script = readFileSync(SCRIPT, 'utf8').replaceAll(/ --oplog(?:Replay)?\b/g, '');
  const env = { ...process.env, BACKUP_MONGODB_URI: uri, BACKUP_FOLDER: folder, BACKUP_DAYS: '14' };
  const run = (action: string, more: object = {}) =>
    promisify(execFile)('sh', ['-c', script, 'backup.sh', action], { env: { ...env, ...more } });
  writeFileSync(join(folder, 'gatehouse-broken-off.archive.gz.part'), '');
  writeFileSync(join(folder, 'gatehouse-20200101T000000Z.archive.gz'), '');
  utimesSync(join(folder, 'gatehouse-20200101T000000Z.archive.gz'), 0, 0);
  const { stdout } = await run('backup');
  const names = readdirSync(folder);
  t.equal(stdout, `backup: ${join(folder, String(names[0]))}\n`);
  t.equal(names.length, 1, 'neither what was broken off nor what is old is kept');
  t.equal(statSync(join(folder, String(names[0]))).mode & 0o777, 0o600);

  await Promise.all([identity.kill(), users.kill()]);
  await mongo.stop();
  rmSync(join(dataDir, 'mongodb'), { recursive: true });
  mongo = await startLocalMongo({ dataDir, env: process.env, logger });
  const stderr = `ARCHIVE does not name one of these archives, which replaces all databases:\n${names[0]}\n`;
  for (const ARCHIVE of ['', 'gatehouse-none.archive.gz', '.'])
    t.match(await run('restore', { ARCHIVE }).catch((error) => error), { stderr });
  await run('restore', { ARCHIVE: names[0] });
  await Promise.all([identity.restart(), users.restart()]);
  for (const each of [token, await tokenFrom(identity.base), await loginToken(identity.base, ADMIN)])
    t.equal(await listStatus(users.base, each), 200);
});
