import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import { type ApiClient, ApiError, UnreachableError } from '../api-client.ts';
import { readRows } from '../collections.ts';
import { cell } from '../output.ts';
import type { Session } from '../session.ts';
import { applicationId, toLimit } from './collections.ts';

type Row = Record<string, unknown>;
type Log = {
  name: string;
  summary: string;
  path: string;
  /** The column titles with their fields, and the widths of these in lines. */
  columns: Readonly<Record<string, [field: string, width: number]>>;
  /** Options, and the filters of the API that they set. */
  filters: Readonly<Record<string, string>>;
};

const POLL_MS = 1000;
const PAGE = 100;
/** The longest pause while the deployment is away. */
const MAX_PAUSE_MS = 30_000;

const LOGS: readonly Log[] = [
  {
    name: 'requests',
    summary: 'requests of applications to the API',
    path: '/api/v1/requests',
    columns: {
      TIME: ['time', 19],
      STATUS: ['status', 6],
      METHOD: ['method', 7],
      PATH: ['path', 40],
      APPLICATION: ['client_id', 30],
      MESSAGE: ['message', 0],
    },
    filters: { application: 'client_id', status: 'status', code: 'code', 'request-id': 'request_id' },
  },
  {
    name: 'audit',
    summary: 'entries of the audit log',
    path: '/api/v1/audit',
    columns: {
      TIME: ['created_at', 19],
      ACTION: ['action', 28],
      ACTOR: ['actor', 30],
      SUBJECT: ['subject', 30],
      ADDRESS: ['address', 0],
    },
    filters: {
      application: 'client',
      action: 'action',
      actor: 'actor',
      subject: 'subject',
      address: 'address',
    },
  },
];

/** The commands that show logs of the deployment. */
export function addLogs(program: Command, session: Session): void {
  for (const { name, summary, path, columns, filters } of LOGS) {
    const command = program.command(name).description(`Show the latest ${summary}.`);
    for (const option of Object.keys(filters))
      command.option(`--${option} <value>`, `only those of this ${option}`);
    command
      .option('--limit <number>', 'as many at most', toLimit, 20)
      .option('-f, --follow', 'go on with new ones as they come')
      .action(async (options: Record<string, string> & { limit: number; follow?: true }) => {
        const { deployment, output } = session();
        const api = await deployment.api();
        const query: Record<string, string> = {};
        for (const [option, field] of Object.entries(filters)) {
          const given = options[option.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())];
          if (given === undefined) continue;
          query[`filter[${field}]`] = option === 'application' ? await applicationId(api, given) : given;
        }
        const fields = Object.values(columns);
        const latest = await readRows(api, path, { limit: Math.max(options.limit, PAGE), query });
        const rows = latest.rows.slice(0, options.limit).reverse();
        if (options.follow !== true) {
          const cells = rows.map((row) => fields.map(([field]) => row[field]));
          const text =
            rows.length === 0
              ? `There are no ${name === 'audit' ? 'entries' : name}.`
              : output.table(Object.keys(columns), cells);
          return output.result({ data: rows }, text);
        }
        const lineOf = (row: Row) =>
          fields
            .map(([field, width]) => cell(row[field]).padEnd(width))
            .join('  ')
            .trimEnd();
        for (const row of rows) output.line(row, lineOf(row));
        await follow(api, { path, query, seen: latest.rows.map(({ id }) => id), note: output.note }, (row) =>
          output.line(row, lineOf(row)),
        );
      });
  }
}

/** Passes on new rows, the oldest first, until the process ends; goes on after the deployment was away. */
async function follow(
  api: ApiClient,
  {
    path,
    query,
    seen,
    note,
  }: { path: string; query: Record<string, string>; seen: unknown[]; note(text: string): void },
  onRow: (row: Row) => void,
): Promise<void> {
  let known = new Set(seen);
  for (let pause = POLL_MS; ; ) {
    await wait(pause);
    try {
      const rows = await newRows(api, path, query, known);
      for (const row of [...rows].reverse()) onRow(row);
      known = new Set([...rows.map(({ id }) => id), ...known].slice(0, 10_000));
      pause = POLL_MS;
    } catch (error) {
      const isAway =
        error instanceof UnreachableError ||
        (error instanceof ApiError && (error.status >= 500 || error.status === 429));
      if (!isAway) throw error;
      if (pause === POLL_MS) note(`${error.message} Trying again…`);
      pause = Math.min(pause * 2, MAX_PAUSE_MS);
    }
  }
}

/**
 * The new rows among those from the latest to the last known one. An entry may be listed a little later than one after it, and one that
 * comes meanwhile moves the pages.
 */
async function newRows(
  api: ApiClient,
  path: string,
  query: Record<string, string>,
  known: ReadonlySet<unknown>,
): Promise<Row[]> {
  for (let limit = PAGE; ; limit *= 10) {
    const { rows, isComplete } = await readRows(api, path, { limit, query });
    const last = rows.findLastIndex(({ id }) => known.has(id));
    if (last < 0 && known.size > 0 && !isComplete) continue;
    return (last < 0 ? rows : rows.slice(0, last)).filter(({ id }) => !known.has(id));
  }
}
