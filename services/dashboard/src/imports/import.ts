/** The action of an import on a row, planned or done. */
export type ImportAction = 'create' | 'change' | 'unchanged' | 'error';
export type ImportCounts = Readonly<Record<ImportAction, number>>;
export const NO_ROWS: ImportCounts = { create: 0, change: 0, unchanged: 0, error: 0 };

/** A row of a file. Its check adds what is to be done with it. */
export type ImportRow = {
  line: number;
  cells: Readonly<Record<string, string>>;
  /** Sentences that say why it cannot be imported, or was not imported so far. */
  problems?: readonly string[];
  action?: ImportAction;
  /** The name of the object. */
  title?: string;
  /** The fingerprint of the object that the row was compared with; empty for a new object. */
  fingerprint?: string;
  /** For the first rows that change something: the name of each field, its value, and the value before. */
  values?: readonly (readonly [label: string, after: string, before?: string])[];
  /** Whether it was refused for good. Imported rows are not kept. */
  isRefused?: boolean;
};

/** Rows that are checked, imported and stored together. */
export type ImportBatch = {
  id: string;
  rows: readonly ImportRow[];
  /** The rows by what their check has found, and by what became of them. */
  planned: ImportCounts;
  done: ImportCounts;
};

/** A file is checked first, and imported when that is confirmed. */
export type ImportPhase = 'check' | 'import';
export type ImportState = 'running' | 'cancelling' | 'done' | 'cancelled' | 'stopped';

export type Import = {
  id: string;
  /** The name of the resource. */
  kind: string;
  phase: ImportPhase;
  state: ImportState;
  /** Why it has stopped: a sentence. */
  reason: string | null;
  /** The session of the dashboard by which it acts, and the request that has started it. */
  session: string;
  cause: { requestId: string; address: string; userAgent: string };
  /** The name of the file. */
  file: string;
  columns: readonly string[];
  rows: number;
  planned: ImportCounts;
  done: ImportCounts;
  /** The accounts that it creates have passwords made of it. */
  secret: string;
  createdAt: Date;
};

/** The reason of an import that goes on after a new sign-in. */
export const SIGN_IN_AGAIN = 'The API takes a new sign-in for this.';

/** How an attempt ends. */
export type ImportEnd = { state: 'done' | 'cancelled' | 'stopped'; reason: string | null };

/** Which batches: those that are to be checked or imported, those with rows that change something, with problems, or with any rows. */
export type BatchFilter = 'open' | 'planned' | 'problems' | 'kept';

/** The store of imports. `owner` is the id of a person. */
export type ImportStore = {
  /** Stores rows before their import is inserted. */
  putRows(importId: string, n: number, rows: readonly ImportRow[]): Promise<void>;
  /** Resolves to the name of the owner in the queue; undefined when the owner has another one that is running. */
  insert(owner: string, it: Import): Promise<string | undefined>;
  /** Without an owner, that of anybody. */
  find(id: string, owner?: string): Promise<Import | undefined>;
  /** Those of a resource, the latest first. */
  list(owner: string, kind: string): Promise<Import[]>;
  hasRunning(owner: string): Promise<boolean>;
  /** Makes one that has ended run again. Resolves as insert() does, also to undefined when it has changed meanwhile. */
  start(
    owner: string,
    from: Import,
    to: Pick<Import, 'phase' | 'session' | 'cause'>,
  ): Promise<string | undefined>;
  /** Has one that is running end soon. */
  cancel(id: string, owner: string): Promise<void>;
  /** Its batches in the order of the file. */
  batches(id: string, which: BatchFilter): AsyncIterable<ImportBatch>;
  /** Replaces what an attempt has read. Resolves to false when another attempt was faster. */
  saveBatch(read: ImportBatch, changed: Omit<ImportBatch, 'id'>): Promise<boolean>;
  /** The rows of all batches, counted. */
  counts(id: string): Promise<Pick<ImportBatch, 'planned' | 'done'>>;
  /** Stores these numbers, unless somebody else has claimed the job. */
  advance(id: string, holder: string, counts: Pick<ImportBatch, 'planned' | 'done'>): Promise<void>;
  remove(id: string): Promise<void>;
  /** Removes the owner's that wait for a confirmation, and the oldest of the others, except as many as `keep`. */
  removeOld(owner: string, keep: number): Promise<void>;
};

/** Whether it is being checked or imported. */
export const isRunning = ({ state }: Pick<Import, 'state'>) => state === 'running' || state === 'cancelling';

export const sumOf = (counts: ImportCounts) =>
  counts.create + counts.change + counts.unchanged + counts.error;

/** Rows by their actions. */
export function countsOf(rows: readonly Pick<ImportRow, 'action'>[]): ImportCounts {
  const counts = { ...NO_ROWS };
  for (const { action } of rows) if (action !== undefined) counts[action] += 1;
  return counts;
}
