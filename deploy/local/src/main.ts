import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLocalBroadcast } from '@gatehouse/events/local-broadcast';
import { createLocalEvents } from '@gatehouse/events/local-events';
import { createIdentityService } from '@gatehouse/identity';
import { createLogger } from '@gatehouse/kit/logger';
import { exitOnFault, readOrExit, stopOnSignal } from '@gatehouse/kit/process';
import { type Running, run } from '@gatehouse/kit/run';
import { CLIENT_SERVICES } from '@gatehouse/kit/services';
import { type LocalMongo, NoMongoError, startLocalMongo } from '@gatehouse/local-mongo/start';
import { createUsersService } from '@gatehouse/users';
import { banner } from './banner.ts';
import { checkDemo } from './check-demo.ts';
import { OUTBOX_DIRECTORY, prepareDataDir, readMasterKey, URI_FILE, writePrivateFile } from './data-dir.ts';
import { databaseUri } from './database-uri.ts';
import { prepareDemo } from './demo.ts';
import { StartFailure } from './failure.ts';
import { firstApplications } from './first-applications.ts';
import { readLocalSettings } from './settings.ts';

const START_LIMIT_MS = 60_000;
const DAY = 86_400;

const settings = readOrExit(readLocalSettings);
const logger = createLogger({ name: 'gatehouse', level: settings.logLevel });
exitOnFault(logger);
// The process that started this one, such as the bootstrap, is gone and could send no signal.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));

let mongo: LocalMongo | undefined;
let running: Running | undefined;
try {
  const { dataDir, port, host, publicUrl, rateLimit } = settings;
  await requireFreePort(port, host);
  await prepareDataDir(dataDir);
  // Both before the database is started: where there is data already, they must be there too.
  const masterKey = await readMasterKey(dataDir);
  const { demo, save } = await prepareDemo(dataDir, publicUrl);
  mongo = await startLocalMongo({ uri: settings.mongodbUri, dataDir, env: process.env, logger });
  await save();
  // For npm run keys:rotate; a URI from outside may hold a password, and is known to whoever set it.
  if (settings.mongodbUri === undefined) await writePrivateFile(join(dataDir, URI_FILE), `${mongo.uri}\n`);
  const here = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

  const broadcast = createLocalBroadcast();
  await broadcast.start();
  const events = createLocalEvents({ logger });
  // Of every service: all of them are in this process, and the next start has another.
  const clientSecret = randomBytes(32).toString('base64url');

  const identity = createIdentityService(
    {
      publicUrl,
      mongodbUri: databaseUri(mongo.uri, 'identity'),
      usersUrl: here,
      masterKey,
      accessTokenAlgorithm: 'ES256',
      lifetimes: { accessToken: 3600, code: 60, refreshToken: 30 * DAY, session: 14 * DAY },
      rotateKeysEveryDays: 90,
      signUp: 'on',
      passwordLogin: 'on',
      auditDays: 365,
      rateLimit,
      services: CLIENT_SERVICES.map((id) => ({ id, secret: clientSecret })),
      mail: { directory: join(dataDir, OUTBOX_DIRECTORY), onLink: printLink },
      firstApplications: firstApplications(demo),
    },
    logger,
    { broadcast },
  );
  const account = (who: 'admin' | 'user', role: 'admin' | 'user') => {
    const { user_id: id, username, password } = demo[who];
    return { id, username, password, email: `${username}@example.com`, role };
  };
  const users = createUsersService(
    {
      publicUrl,
      mongodbUri: databaseUri(mongo.uri, 'users'),
      identityUrl: here,
      clientSecret,
      hashConcurrency: 2,
      rateLimit,
      firstUsers: [account('admin', 'admin'), account('user', 'user')],
      v1Profile: settings.v1Profile,
      v2Profile: settings.v2Profile,
      filtersSunset: settings.filtersSunset,
    },
    logger,
    { broadcast, events },
  );

  running = await run([identity, users], {
    port,
    host,
    logger,
    trustedProxies: [],
    requireHttps: false,
    drainSeconds: 5,
  });
  stopOnSignal(running, logger, () => mongo?.stop());
  await Promise.race([running.started, tooLate(mongo.kind)]);
  await checkDemo(here, demo, dataDir);
  process.stdout.write(banner(publicUrl, dataDir, mongo.kind));
} catch (error) {
  // Broken off by a signal, which sees to the rest.
  if (running?.stopping === true) await new Promise(() => {});
  if (error instanceof StartFailure || error instanceof NoMongoError)
    process.stderr.write(`${error.message}\n`);
  else logger.fatal({ err: error }, 'cannot start');
  await mongo?.stop();
  process.exit(1);
}

/** Past the log, which holds no links: whoever started this is the one to follow them. */
function printLink({ to, link }: { to: string; link: string }): void {
  process.stdout.write(`\n  Mail to ${to}: ${link}\n\n`);
}

/** A database that takes connections and never answers would be waited for without end. */
async function tooLate(kind: string): Promise<never> {
  await sleep(START_LIMIT_MS, undefined, { ref: false });
  throw new StartFailure(
    `The database (${kind}) has not answered for a minute: see to it, then start again.`,
  );
}

/** Asked before the database is started, so that the answer comes at once and leaves nothing behind. */
function requireFreePort(port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const sentence =
        error.code === 'EADDRINUSE'
          ? `Port ${port} is in use: stop what uses it, or set PORT to another.`
          : `Port ${port} cannot be opened on ${host} (${error.code}): set HOST or PORT to others.`;
      reject(new StartFailure(sentence));
    });
    probe.listen({ port, host }, () => probe.close(() => resolve()));
  });
}
