import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '@gatehouse/core/ids';
import { ApiError } from '../api/api-error.ts';
import type { Cause } from '../api/cause.ts';
import {
  type BatchFilter,
  type Import,
  type ImportRow,
  type ImportStore,
  isRunning,
  NO_ROWS,
} from './import.ts';

/** The person who starts an import, and the session. */
export type ImportStarter = { person: { id: string }; sessionId: string; cause: Cause };

/** The imports of files. People see and steer their own. */
export type Imports = {
  /**
   * Stores the rows of a file, which are then checked in the background; resolves to the id of the import. Throws ApiError (409) when
   * the person has another import that is running, and what reading the rows throws.
   */
  create(
    by: ImportStarter,
    file: Pick<Import, 'kind' | 'file' | 'columns'> & { rows: AsyncIterable<ImportRow> },
  ): Promise<string>;
  find(by: Pick<ImportStarter, 'person'>, kind: string, id: string): Promise<Import | undefined>;
  list(by: Pick<ImportStarter, 'person'>, kind: string): Promise<Import[]>;
  /**
   * Imports what was checked, or goes on with what has ended before all was done. Throws ApiError (409) when another import is running. One that is
   * running already goes on.
   */
  run(by: ImportStarter, it: Import): Promise<void>;
  cancel(by: Pick<ImportStarter, 'person'>, it: Import): Promise<void>;
  /** The rows of some batches, in the order of the file. */
  rows(it: Import, which: BatchFilter): AsyncIterable<ImportRow>;
};

/** How many rows are checked and imported between two writes of the database, and of how many characters. */
const BATCH = { rows: 100, characters: 256 * 1024 };
/** How many imports of a person are kept. */
const MAX_KEPT = 10;
/** How long a request waits for an import to end, so that the page of a small one shows the result at once. */
const END_MS = 2000;
const POLL_MS = 50;
const BUSY = 'Another import of yours is running. Wait until it has ended, or cancel it.';

/** @param options.announce tells the worker of a job, by its owner in the queue */
export function createImports(options: { store: ImportStore; announce(owner: string): void }): Imports {
  const { store, announce } = options;
  const busy = () => new ApiError(409, BUSY);

  /** Waits until an import has ended, but not for long. */
  async function ended(id: string): Promise<void> {
    const deadline = performance.now() + END_MS;
    for (;;) {
      const it = await store.find(id);
      if (it === undefined || !isRunning(it) || performance.now() > deadline) return;
      await sleep(POLL_MS);
    }
  }

  async function putAll(id: string, rows: AsyncIterable<ImportRow>): Promise<number> {
    let count = 0;
    let batch: ImportRow[] = [];
    let characters = 0;
    let batches = 0;
    async function put(): Promise<void> {
      await store.putRows(id, batches, batch);
      batches += 1;
      batch = [];
      characters = 0;
    }
    for await (const row of rows) {
      count += batch.push(row) > 0 ? 1 : 0;
      for (const text of Object.values(row.cells)) characters += text.length;
      if (batch.length === BATCH.rows || characters > BATCH.characters) await put();
    }
    if (batch.length > 0) await put();
    return count;
  }

  return {
    async create({ person, sessionId, cause }, { kind, file, columns, rows }) {
      const id = newId('imp');
      const createdAt = new Date();
      if (await store.hasRunning(person.id)) throw busy();
      await store.removeOld(person.id, MAX_KEPT - 1);
      try {
        const it: Import = {
          ...{ id, kind, file, columns, cause, createdAt, session: sessionId },
          ...{ phase: 'check', state: 'running', reason: null, planned: NO_ROWS, done: NO_ROWS },
          rows: await putAll(id, rows),
          secret: randomBytes(32).toString('base64url'),
        };
        const owner = await store.insert(person.id, it);
        if (owner === undefined) throw busy();
        announce(owner);
      } catch (error) {
        await store.remove(id);
        throw error;
      }
      await ended(id);
      return id;
    },
    async find({ person }, kind, id) {
      const found = await store.find(id, person.id);
      return found?.kind === kind ? found : undefined;
    },
    list: ({ person }, kind) => store.list(person.id, kind),
    async run({ person, sessionId: session, cause }, it) {
      const phase = it.phase === 'check' && it.state !== 'done' ? 'check' : 'import';
      if (!isRunning(it)) {
        const owner = await store.start(person.id, it, { phase, session, cause });
        const now = owner === undefined ? await store.find(it.id, person.id) : undefined;
        if (owner !== undefined) announce(owner);
        else if (now === undefined || !isRunning(now)) throw busy();
      }
      await ended(it.id);
    },
    async cancel({ person }, it) {
      await store.cancel(it.id, person.id);
      await ended(it.id);
    },
    async *rows({ id }, which) {
      for await (const { rows } of store.batches(id, which)) yield* rows;
    },
  };
}
