import { StartError } from './start-error.ts';

/** A request to the API of this deployment; throws a StartError for an answer that is no success. */
export type Call = (method: string, path: string, body?: unknown) => Promise<unknown>;

type Lane = {
  queue: string;
  lane: string;
  paused: boolean;
  failing: { since: string; error: string } | null;
  attempts: Record<string, number>;
  priorities: { waiting: number; in_flight: number; oldest_seconds: number; dead_letters: number }[];
};
type DeadLetter = {
  id: string;
  queue: string;
  lane: string;
  attempts: number;
  error: string;
  failed_at: string;
};
type Page = { data: DeadLetter[]; links: { next?: string } };

const DEAD_LETTERS = '/api/v1/dead-letters';
const QUEUES = '/api/v1/queues';
/** As many as one request may replay. */
const PAGE = 100;

export const USAGE = `usage: npm run jobs -- COMMAND
  list                       the queues, and the dead letters
  show ID                    one dead letter
  replay ID… | --all         put dead letters back into their queues
  purge ID… | QUEUE [LANE]   remove dead letters, some or all of a queue or a lane
  pause QUEUE LANE           keep the jobs of a lane until it is resumed
  resume QUEUE LANE
`;

/** What `npm run jobs` does: returns what it prints. Throws a StartError with one sentence. */
export async function runJobsCommand(args: readonly string[], call: Call): Promise<string> {
  const [command = 'list', ...rest] = args;
  const [first, second] = rest;
  switch (command) {
    case 'list':
      return list(call);
    case 'show':
      if (first === undefined) break;
      return `${JSON.stringify(await call('GET', letterPath(first)), null, 2)}\n`;
    case 'replay':
      if (first === undefined) break;
      return first === '--all' ? replayAll(call) : replay(call, rest);
    case 'purge':
      if (first === undefined) break;
      return purge(call, rest);
    case 'pause':
    case 'resume':
      if (first === undefined || second === undefined) break;
      await call('PUT', `${QUEUES}/${encodeURIComponent(first)}/${encodeURIComponent(second)}`, {
        paused: command === 'pause',
      });
      return `${first} ${second} is ${command === 'pause' ? 'paused' : 'running'}.\n`;
  }
  throw new StartError(USAGE.trimEnd());
}

const letterPath = (id: string) => `${DEAD_LETTERS}/${encodeURIComponent(id)}`;

async function list(call: Call): Promise<string> {
  const lanes = (await call('GET', QUEUES)) as Lane[];
  const letters = await readAll(call);
  const sum = (lane: Lane, field: 'waiting' | 'in_flight' | 'dead_letters') =>
    String(lane.priorities.reduce((total, priority) => total + priority[field], 0));
  const rows = lanes.map((lane) => [
    `${lane.queue} ${lane.lane}`,
    lane.paused ? 'paused' : lane.failing === null ? 'running' : 'failing',
    sum(lane, 'waiting'),
    sum(lane, 'in_flight'),
    `${Math.round(Math.max(0, ...lane.priorities.map(({ oldest_seconds }) => oldest_seconds)))} s`,
    String(Object.values(lane.attempts).reduce((total, count) => total + count, 0)),
    sum(lane, 'dead_letters'),
  ]);
  const head = ['LANE', 'STATE', 'WAITING', 'IN FLIGHT', 'OLDEST', 'ATTEMPTS', 'DEAD'];
  const failing = lanes.flatMap(({ queue, lane, failing }) =>
    failing === null ? [] : [`${queue} ${lane} fails since ${failing.since}: ${failing.error}`],
  );
  const dead = letters.map(({ id, queue, lane, attempts, failed_at: failedAt, error }) => [
    ...[id, `${queue} ${lane}`, failedAt, String(attempts), error],
  ]);
  return [
    table([head, ...rows]),
    ...failing.map((line) => `${line}\n`),
    dead.length === 0
      ? 'There are no dead letters.\n'
      : table([['DEAD LETTER', 'LANE', 'FAILED AT', 'ATTEMPTS', 'ERROR'], ...dead]),
  ].join('\n');
}

async function readAll(call: Call): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = [];
  for (let path: string | undefined = `${DEAD_LETTERS}?limit=${PAGE}`; path !== undefined; ) {
    const page = (await call('GET', path)) as Page;
    letters.push(...page.data);
    path = page.links.next;
  }
  return letters;
}

async function replay(call: Call, ids: readonly string[]): Promise<string> {
  let count = 0;
  const missing: string[] = [];
  for (let i = 0; i < ids.length; i += PAGE) {
    const body = { ids: ids.slice(i, i + PAGE) };
    const { replayed, unknown } = (await call('POST', DEAD_LETTERS, body)) as {
      replayed: number;
      unknown: string[];
    };
    count += replayed;
    missing.push(...unknown);
  }
  return `${count} replayed.${missing.length > 0 ? ` There is no ${missing.join(', ')}.` : ''}\n`;
}

async function replayAll(call: Call): Promise<string> {
  const letters = await readAll(call);
  return replay(
    call,
    letters.map(({ id }) => id),
  );
}

/** The id of a dead letter has an underscore, and no name of a queue has one. */
async function purge(call: Call, [first = '', ...rest]: readonly string[]): Promise<string> {
  if (first.includes('_')) {
    const ids = [first, ...rest];
    for (const id of ids) await call('DELETE', letterPath(id));
    return `${ids.length} removed.\n`;
  }
  const [lane] = rest;
  const query = new URLSearchParams({ queue: first, ...(lane === undefined ? {} : { lane }) });
  const { removed } = (await call('DELETE', `${DEAD_LETTERS}?${query}`)) as { removed: number };
  return `${removed} removed.\n`;
}

/** Columns as wide as their longest cell. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}
