import { setTimeout as sleep } from 'node:timers/promises';
import type { Role } from '@gatehouse/tokens/scopes';
import type { Api } from '../api/api.ts';
import { ApiError } from '../api/api-error.ts';
import { concurrently } from '../api/concurrently.ts';
import { retryAfterRateLimit } from '../api/retry-after-rate-limit.ts';
import {
  countsOf,
  type Import,
  type ImportAction,
  type ImportBatch,
  type ImportCounts,
  type ImportEnd,
  type ImportRow,
  type ImportStore,
  NO_ROWS,
  SIGN_IN_AGAIN,
} from './import.ts';

/** How the rows of a resource are checked and written. Its functions throw ApiError. */
export type ImportKind = {
  /** The lowest role that may import. */
  role: Role;
  /** Makes a function that compares rows with what is there, batch by batch in the order of the file. */
  check(columns: readonly string[]): (api: Api, rows: readonly ImportRow[]) => Promise<readonly ImportRow[]>;
  /** Reads what the rows change. The function that is returned writes a row, which has a secret of its own, and tells what was done. */
  prepare(
    columns: readonly string[],
    api: Api,
    rows: readonly ImportRow[],
  ): Promise<(row: ImportRow, api: Api, secret: string) => Promise<ImportAction>>;
  /** The problems of a row that the API refuses, in sentences. */
  explain(error: ApiError): readonly string[];
};

/** One attempt to check or import a file. */
export type ImportWork = {
  it: Import;
  kind: ImportKind;
  /** The API for a part of an import: its POST requests have an Idempotency-Key of that name. */
  apiFor(part: string): Api;
  secretFor(part: string): string;
  /** Aborted when no row may be begun any more. */
  signal: AbortSignal;
  store: ImportStore;
  /** Stores how far it is. */
  advance(counts: Pick<ImportBatch, 'planned' | 'done'>): Promise<void>;
  /** The least time that a row takes, in milliseconds: other requests of the person are to be within the rate limit. */
  rowMs: number;
};

export const UNREACHABLE = 'A part of Gatehouse could not be reached, or failed.';
/** How long a request is waited for when too many have been made. */
const MAX_WAIT_MS = 90_000;

/** The import ends, and is not tried again by itself. */
export class ImportEnded extends Error {
  readonly state: ImportEnd['state'];
  constructor(state: ImportEnd['state'], reason = '') {
    super(reason);
    this.state = state;
  }
}

/** How many rows in a row fail until it is likely that all would. */
const MAX_FAILURES = 50;

const waiting = <T>(request: () => Promise<T>, signal: AbortSignal) =>
  retryAfterRateLimit(request, Date.now() + MAX_WAIT_MS, signal);

/** Reads for rows. What the API refuses ends the import. */
function reading<T>(request: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return waiting(request, signal).catch((error: unknown) => {
    if (error instanceof ApiError && !isTemporary(error)) throw new ImportEnded('stopped', error.message);
    throw error;
  });
}

/** Compares all rows with what is there. Nothing is written to the API, so that each check begins from the first row. */
export async function checkRows({ it, kind, apiFor, signal, store, advance }: ImportWork): Promise<void> {
  const check = kind.check(it.columns);
  let planned = NO_ROWS;
  for await (const batch of store.batches(it.id, 'open')) {
    const rows = await reading(() => check(apiFor('check'), batch.rows), signal);
    signal.throwIfAborted();
    const counts = countsOf(rows);
    await save(store, batch, { rows, planned: counts, done: NO_ROWS });
    planned = added(planned, counts);
    await advance({ planned, done: NO_ROWS });
  }
}

/**
 * Imports the rows that were not imported so far. Resolves to the number of those that may be imported later. Throws when
 * hardly any can be imported now.
 */
export async function importRows(work: ImportWork): Promise<number> {
  const { it, signal, store, advance } = work;
  const { planned, done: before } = await store.counts(it.id);
  let done = before;
  let later = 0;
  let inARow = 0;
  for await (const batch of store.batches(it.id, 'open')) {
    signal.throwIfAborted();
    const outcomes = new Map<ImportRow, Outcome>();
    try {
      await importBatch(work, batch, outcomes);
    } finally {
      const more = countsOf([...outcomes.values()]);
      await save(store, batch, { ...batch, done: added(batch.done, more), rows: keptRows(batch, outcomes) });
      done = added(done, more);
      await advance({ planned, done });
    }
    const failed = [...outcomes.values()].filter(({ action }) => action === undefined).length;
    later += failed;
    inARow = failed === outcomes.size ? inARow + failed : 0;
    if (inARow >= MAX_FAILURES) throw new Error(UNREACHABLE);
  }
  return later;
}

/** The outcome of a row; without an action it may be imported later. A row that was not imported is kept. */
type Outcome = { action?: ImportAction; kept?: ImportRow };

async function importBatch(
  { it, kind, apiFor, secretFor, signal, rowMs }: ImportWork,
  { rows }: ImportBatch,
  outcomes: Map<ImportRow, Outcome>,
): Promise<void> {
  const open = rows.filter(({ isRefused }) => !isRefused);
  const wanted = open.filter(({ action }) => action !== 'error');
  for (const row of open) if (row.action === 'error') outcomes.set(row, refused(row));
  const write = await reading(() => kind.prepare(it.columns, apiFor('check'), wanted), signal);
  await concurrently(wanted, async (row) => {
    signal.throwIfAborted();
    const part = `line-${row.line}`;
    // Each attempt has the Idempotency-Key of the row.
    const send = () => write(row, apiFor(part), secretFor(part));
    const outcome = waiting(send, signal).then(
      (action): Outcome => ({ action }),
      (error: unknown) => failureOf(error, row, kind),
    );
    await Promise.all([outcome, sleep(row.action === 'create' ? rowMs : 2 * rowMs)]);
    outcomes.set(row, await outcome);
  });
}

function failureOf(error: unknown, row: ImportRow, kind: ImportKind): Outcome {
  if (!(error instanceof ApiError)) throw error;
  if (error.status === 401 || error.takesSignIn) throw new ImportEnded('stopped', SIGN_IN_AGAIN);
  const problems = kind.explain(error);
  return isTemporary(error) ? { kept: { ...row, problems } } : refused({ ...row, problems });
}

const refused = (row: ImportRow): Outcome => ({ action: 'error', kept: { ...row, isRefused: true } });

/** Also where the process died that had the request before: its Idempotency-Key is free again after a minute. */
const isTemporary = ({ isUnavailable, status, retryAfter }: ApiError) =>
  isUnavailable || status === 429 || (status === 409 && retryAfter !== undefined);

function keptRows({ rows }: ImportBatch, outcomes: ReadonlyMap<ImportRow, Outcome>): ImportRow[] {
  return rows.flatMap((row) => {
    const outcome = outcomes.get(row);
    return outcome === undefined ? row : (outcome.kept ?? []);
  });
}

function added(counts: ImportCounts, more: ImportCounts): ImportCounts {
  return {
    create: counts.create + more.create,
    change: counts.change + more.change,
    unchanged: counts.unchanged + more.unchanged,
    error: counts.error + more.error,
  };
}

async function save(store: ImportStore, batch: ImportBatch, changed: Omit<ImportBatch, 'id'>): Promise<void> {
  if (!(await store.saveBatch(batch, changed))) throw new Error('Another attempt has taken the import over.');
}
