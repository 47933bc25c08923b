import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ServiceError } from '@gatehouse/core/errors';
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { USER_MIGRATIONS } from '../store/user-document.ts';
import { createUserStore } from '../store/user-store.ts';
import { importUsers } from './import-users.ts';
import { ndjson, type Source } from './source.ts';
import { auth0 } from './sources/auth0.ts';
import { firebase } from './sources/firebase.ts';
import { keycloak } from './sources/keycloak.ts';

const USAGE = `Usage: npm run import:users -- --from keycloak|auth0|firebase|ndjson FILE
       FILE may be - for the standard input. With --from firebase, --hash-config PARAMETERS names a file
       with the text that the Firebase console shows under "Password hash parameters".`;
const SOURCES = new Map<string, Source | typeof firebase>(
  Object.entries({ keycloak, auth0, firebase, ndjson }),
);
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
  /** How long to wait for the database. */
  maxWaitSeconds?: number;
}): Promise<number> {
  const { args, mongodbUri: uri, migrateAtStart, input, write, log, maxWaitSeconds = 10 } = options;
  const logger = createLogger({ name: 'import', level: 'silent', readable: false });
  const migrations = USER_MIGRATIONS;
  const database = createDatabase({ uri, name: 'users', logger, migrations, migrateAtStart });
  const store = createUserStore(database.connection);
  const tally = { read: 0, created: 0, unchanged: 0, refused: 0 };
  let progress: NodeJS.Timeout | undefined;
  try {
    const { path, ...program } = await readArguments(args);
    const connected = database.start().then(() => true);
    connected.catch(() => {});
    if (!(await Promise.race([connected, sleep(maxWaitSeconds * 1000, false, { ref: false })]))) {
      const problem = (await database.unready()) ?? 'not ready';
      throw new ServiceError('unavailable', `The users service cannot be imported into: ${problem}.`);
    }
    progress = setInterval(() => log(`${count(tally.read)} accounts so far\n`), PROGRESS_MS);
    await importUsers({
      ...{ store, ...program, tally },
      file: path === '-' ? input : createReadStream(path, { highWaterMark: 1024 * 1024 }),
      report: (outcome) => write(`${JSON.stringify(outcome)}\n`),
    });
    const [read, created, known, refused] = Object.values(tally).map(count);
    const changes = tally.created === 0 ? ' Nothing has changed.' : '';
    log(`${read} accounts: ${created} created, ${known} already there, ${refused} refused.${changes}\n`);
    return tally.refused > 0 ? STATUS.refused : STATUS.done;
  } catch (error) {
    log(`${failureOf(error)}\n`);
    return STATUS.failed;
  } finally {
    clearInterval(progress);
    await database.stop();
  }
}

async function readArguments(
  args: readonly string[],
): Promise<{ from: string; source: Source; path: string }> {
  const text = { type: 'string' } as const;
  const options = { from: text, 'hash-config': text };
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const { from = '', 'hash-config': hashConfig } = values;
  const [path, ...others] = positionals;
  const program = SOURCES.get(from);
  const source =
    typeof program === 'function'
      ? hashConfig && program(await readFile(hashConfig, 'utf8'))
      : hashConfig === undefined && program;
  if (!source || path === undefined || others.length > 0) throw new ServiceError('invalid', USAGE);
  return { from, source, path };
}

const count = (number: number) => number.toLocaleString('en');

/** Errors of the system, such as those of files, say what is wrong. What the database says may contain an account. */
function failureOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof ServiceError || code?.startsWith('ERR_PARSE_ARGS')) return message;
  if (code !== undefined && /^E[A-Z]+$/.test(code)) return `${message}.`;
  return `The import was interrupted (${(error as Error).name}). Run it again: accounts that are there already stay as they are.`;
}
