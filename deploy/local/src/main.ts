import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SettingsError } from '@gatehouse/core/config';
import { createLogger } from '@gatehouse/core/logger';
import { createLocalBroadcast } from '@gatehouse/events/local-broadcast';
import { createLocalEvents } from '@gatehouse/events/local-events';
import { type LocalMongo, NoMongoError, startLocalMongo } from '@gatehouse/local-mongo/start';
import { exitOnFault, MIGRATE, readOrExit, stopOnSignal } from '@gatehouse/server/process';
import { type Running, run } from '@gatehouse/server/run';
import { startTracing } from '@gatehouse/server/tracing/start-tracing';
import { applyAtStart, configurationIn } from './apply-at-start.ts';
import { banner } from './banner.ts';
import { checkDemo } from './check-demo.ts';
import { MONGODB_DIRECTORY, prepareDataDir, readMasterKeys, URI_FILE, writePrivateFile } from './data-dir.ts';
import { prepareDemo } from './demo.ts';
import { requireFreePort } from './free-port.ts';
import { prepareServices } from './services.ts';
import { readLocalSettings } from './settings.ts';
import { StartError } from './start-error.ts';

const START_LIMIT_MS = 60_000;

const settings = readOrExit(readLocalSettings);
// Requests are logged if the output is collected, but not shown in a terminal.
const level = settings.logLevel ?? (process.stdout.isTTY ? 'warn' : 'info');
const logger = createLogger({ name: 'gatehouse', level, traced: settings.otlpEndpoint !== undefined });
exitOnFault(logger);
// The parent process, such as the bootstrap, has ended without sending a signal.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));

let mongo: LocalMongo | undefined;
let running: Running | undefined;
try {
  const { dataDir, port, host, publicUrl } = settings;
  const configuration = configurationIn(process.argv.slice(2), process.env.INIT_CWD);
  await requireFreePort(port, host);
  if (process.stdout.isTTY) process.stdout.write('Starting Gatehouse…\n');
  await prepareDataDir(dataDir);
  // Both before the database is started: if there is data, they must exist, too.
  const masterKeys = await readMasterKeys(dataDir);
  const { demo, save } = await prepareDemo(dataDir, publicUrl);
  const ownUrl = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const { create, isSent } = await prepareServices({
    settings,
    env: process.env,
    ownUrl,
    masterKeys,
    demo,
    logger,
  });
  // Otherwise a first start is silent for up to half a minute. The standard output may be a log, in JSON.
  if (settings.mongodbUri === undefined && !existsSync(join(dataDir, MONGODB_DIRECTORY)))
    process.stderr.write('Preparing the database…\n');
  mongo = await startLocalMongo({ uri: settings.mongodbUri, dataDir, env: process.env, logger });
  // For npm run keys:rotate. A URI from MONGODB_URI may contain a password, and is not written to a file.
  if (settings.mongodbUri === undefined) await writePrivateFile(join(dataDir, URI_FILE), `${mongo.uri}\n`);

  const stopTracing = await startTracing(settings, 'gatehouse', logger);
  const broadcast = createLocalBroadcast();
  await broadcast.start();
  const services = create(mongo.uri, { broadcast, events: createLocalEvents({ logger }) });
  if (process.argv[2] === MIGRATE) {
    for (const service of services) await service.migrate?.();
    process.stdout.write('The databases are up to date.\n');
    await mongo.stop();
    process.exit(0);
  }
  running = await run(services, {
    port,
    host,
    logger,
    trustedProxies: [],
    requireHttps: false,
    drainSeconds: 5,
  });
  stopOnSignal(running, logger, async () => {
    await stopTracing();
    await mongo?.stop();
  });
  await Promise.race([running.started, startTimeout(mongo.kind)]);
  await checkDemo(ownUrl, demo, dataDir);
  await save();
  if (configuration !== undefined)
    await applyAtStart(configuration, { url: ownUrl, admin: demo.admin, env: process.env });
  process.stdout.write(banner({ ...settings, database: mongo.kind, isSent }));
} catch (error) {
  // Interrupted by a signal: its handler ends the process.
  if (running?.stopping === true) await new Promise(() => {});
  if (error instanceof StartError || error instanceof NoMongoError || error instanceof SettingsError)
    process.stderr.write(`${error.message}\n`);
  else logger.fatal({ err: error }, 'cannot start');
  await mongo?.stop();
  process.exit(1);
}

/** Rejects after START_LIMIT_MS, in case the database accepts connections and never responds. */
async function startTimeout(kind: string): Promise<never> {
  await sleep(START_LIMIT_MS, undefined, { ref: false });
  throw new StartError(`The database (${kind}) has not answered for a minute: check it, then start again.`);
}
