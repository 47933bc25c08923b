import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { USER_MIGRATIONS } from '../store/user-migrations.ts';
import { createUserStore } from '../store/user-store.ts';
import { importUsers, type Tally } from './import-users.ts';
import type { Source } from './source.ts';
import { auth0 } from './sources/auth0.ts';
import { firebase } from './sources/firebase.ts';
import { keycloak } from './sources/keycloak.ts';
import { ndjson } from './sources/ndjson.ts';

const USAGE = `Usage: npm run import:users -- --from keycloak|auth0|firebase|ndjson FILE
       FILE may be - for the standard input. With --from firebase, --hash-config PARAMETERS names a file
       with the text that the Firebase console shows under "Password hash parameters".`;
const SOURCES: Readonly<Record<string, Source>> = { keycloak, auth0, ndjson };
const PROGRESS_MS = 5000;

/** The exit statuses: everything is there; the import was not completed; it was, and some accounts were refused. */
const STATUS = { done: 0, failed: 1, refused: 2 } as const;

/**
 * The command `npm run import:users`. Writes what became of accounts that were not created as they are in the file to the
 * standard output, as lines of JSON, and everything else to the standard error. Returns the exit status.
 */
export async function importCommand(options: {
  args: readonly string[];
  mongodbUri: string;
  migrateAtStart: 'on' | 'off';
  input: AsyncIterable<Buffer>;
  /** Resolves when more can be written. */
  write(text: string): Promise<void>;
  log(text: string): void;
  /** For the connection to the database. */
  logger: Logger;
  /** How long to wait for the database. */
  maxWaitSeconds?: number;
}): Promise<number> {
  const { args, mongodbUri: uri, migrateAtStart, input, write, log, logger, maxWaitSeconds = 10 } = options;
  const database = createDatabase({
    uri,
    name: 'users',
    logger,
    migrations: USER_MIGRATIONS,
    migrateAtStart,
  });
  const store = createUserStore(database.connection);
  try {
    const { source, path } = await readArguments(args);
    const connected = database.start().then(() => true);
    connected.catch(() => {});
    if (!(await Promise.race([connected, sleep(maxWaitSeconds * 1000, false, { ref: false })]))) {
      const problem = (await database.unready()) ?? 'not ready';
      throw new ServiceError('unavailable', `The users service cannot be imported into: ${problem}.`);
    }
    let loggedAt = performance.now();
    const tally = await importUsers({
      store,
      source,
      file: path === '-' ? input : createReadStream(path, { highWaterMark: 1024 * 1024 }),
      report: (outcome) => write(`${JSON.stringify(outcome)}\n`),
      onProgress({ read }) {
        if (performance.now() - loggedAt < PROGRESS_MS) return;
        loggedAt = performance.now();
        log(`${read.toLocaleString('en')} accounts so far\n`);
      },
    });
    log(summary(tally));
    return tally.refused > 0 ? STATUS.refused : STATUS.done;
  } catch (error) {
    log(`${failureOf(error)}\n`);
    return STATUS.failed;
  } finally {
    await database.stop();
  }
}

async function readArguments(args: readonly string[]): Promise<{ source: Source; path: string }> {
  const text = { type: 'string' } as const;
  const options = { from: text, 'hash-config': text };
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [path, ...others] = positionals;
  const { from = '', 'hash-config': hashConfig } = values;
  if ((from === 'firebase') !== (hashConfig !== undefined) || path === undefined || others.length > 0)
    throw new ServiceError('invalid', USAGE);
  if (hashConfig !== undefined) return { source: firebase(await readFile(hashConfig, 'utf8')), path };
  const source = Object.hasOwn(SOURCES, from) ? SOURCES[from] : undefined;
  if (source === undefined) throw new ServiceError('invalid', USAGE);
  return { source, path };
}

function summary({ read, created, unchanged, refused }: Tally): string {
  const counts = `${count(created)} created, ${count(unchanged)} already there, ${count(refused)} refused`;
  const changes = created === 0 ? ' Nothing has changed.' : '';
  return `${count(read)} accounts: ${counts}.${changes}\n`;
}

const count = (number: number) => number.toLocaleString('en');

/** Errors of the system, such as those of files, say what is wrong. What the database says may contain an account. */
function failureOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof ServiceError || code?.startsWith('ERR_PARSE_ARGS')) return message;
  if (code !== undefined && /^E[A-Z]+$/.test(code)) return `${message}.`;
  return `The import was interrupted (${(error as Error).name}). Run it again: accounts that are there already stay as they are.`;
}
