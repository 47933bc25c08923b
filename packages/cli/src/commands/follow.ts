import type { Command } from 'commander';
import type { ApiClient } from '../api-client.ts';
import { readRows, toCount } from '../collections.ts';
import { cell, type Row } from '../output.ts';
import { repeat } from '../repeat.ts';
import type { Session } from '../session.ts';
import { applicationId } from './collections.ts';

type Log = {
  name: string;
  summary: string;
  path: string;
  /** The fields that are shown, with their widths in lines. */
  columns: Readonly<Record<string, number>>;
  /** Options, and the filters of the API that they set. */
  filters: Readonly<Record<string, string>>;
};

const PAGE = 100;

const LOGS: readonly Log[] = [
  {
    ...{ name: 'requests', summary: 'requests of applications to the API', path: '/api/v1/requests' },
    columns: { time: 19, status: 6, method: 7, path: 40, client_id: 30, message: 0 },
    filters: { application: 'client_id', status: 'status', code: 'code', 'request-id': 'request_id' },
  },
  {
    ...{ name: 'audit', summary: 'entries of the audit log', path: '/api/v1/audit' },
    columns: { created_at: 19, action: 28, actor: 30, subject: 30, address: 0 },
    filters: {
      ...{ application: 'client', action: 'action', actor: 'actor', subject: 'subject', address: 'address' },
    },
  },
];

/** The commands that show logs of the deployment. */
export function addLogs(program: Command, session: Session): void {
  for (const { name, summary, path, columns, filters } of LOGS) {
    const command = program.command(name).description(`Show the latest ${summary}.`);
    const options = Object.entries(filters).map(([name, filter]) => {
      const option = command.createOption(
        `--${name} <value>`,
        `only those with this ${name.replace('-', ' ')}`,
      );
      command.addOption(option);
      return { name, filter, attribute: option.attributeName() };
    });
    command
      .option('--limit <number>', 'show at most this many', toCount, 20)
      .option('-f, --follow', 'keep showing new ones')
      .action(async (given: Record<string, string> & { limit: number; follow?: true }) => {
        const { deployment, output } = session();
        const api = await deployment.api();
        const query: Record<string, string> = {};
        for (const { name, filter, attribute } of options) {
          const value = given[attribute];
          if (value !== undefined)
            query[`filter[${filter}]`] = name === 'application' ? await applicationId(api, value) : value;
        }
        const latest = await readRows(api, path, { limit: Math.max(given.limit, PAGE), query });
        const rows = latest.rows.slice(0, given.limit).reverse();
        if (given.follow !== true) {
          const text = rows.length === 0 ? 'There are none.' : output.table(Object.keys(columns), rows);
          return output.result({ data: rows }, text);
        }
        const print = (row: Row) => {
          const cells = Object.entries(columns).map(([field, width]) => cell(row[field]).padEnd(width));
          output.line(row, cells.join('  ').trimEnd());
        };
        rows.forEach(print);
        let known = new Set(latest.rows.map(({ id }) => id));
        await repeat(async () => {
          const added = await newRows(api, path, query, known);
          for (const row of [...added].reverse()) print(row);
          known = new Set([...added.map(({ id }) => id), ...known].slice(0, 10_000));
        }, output.note);
      });
  }
}

/**
 * The rows that are not known yet, the latest first. They are read back to the last known row: an entry can be listed a little after a
 * later one, and new entries move the pages.
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
