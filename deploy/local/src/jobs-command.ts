import { StartError } from './start-error.ts';

/** A request to the API of this deployment; throws a RefusedError for a response that is no success. */
export type Call = (method: string, path: string, body?: unknown) => Promise<unknown>;

/** The deployment has answered that it will not, or cannot. */
export class RefusedError extends StartError {
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

type Lane = {
  queue: string;
  lane: string;
  paused: boolean;
  failing: { since: string; error: string } | null;
  attempts: Record<string, number>;
  owners?: { owner: string; slot_seconds: number }[];
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

The columns of list, for each lane:
  WAITING       jobs that no worker has taken yet
  IN PROGRESS   jobs that are running or wait for another attempt; also jobs that were
                cancelled or got another priority, until a worker comes to them
  OLDEST        the age of the oldest of these jobs
  ATTEMPTS      the number of attempts since the beginning
  DEAD          dead letters: jobs whose attempts all failed
The owners are those whose jobs took the most time in the last hour or so.

The command connects to npm start, as its admin. For another deployment, set
  GATEHOUSE_URL     its PUBLIC_URL
  GATEHOUSE_TOKEN   a token or an API key of an admin there
`;

const ALL = '--all';
const MANY = Number.POSITIVE_INFINITY;
/** How many arguments each command takes, and in words those that it needs. */
const ARGUMENTS = {
  list: { least: 0, most: 0, needs: 'nothing' },
  show: { least: 1, most: 1, needs: 'the ID of a dead letter' },
  replay: { least: 1, most: MANY, needs: `an ID or ${ALL}` },
  purge: { least: 1, most: MANY, needs: 'an ID or a QUEUE' },
  pause: { least: 2, most: 2, needs: 'a QUEUE and a LANE' },
  resume: { least: 2, most: 2, needs: 'a QUEUE and a LANE' },
};

/** The command `npm run jobs`: returns its output. Throws a StartError whose message says what was wrong. */
export async function runJobsCommand(args: readonly string[], call: Call): Promise<string> {
  const [command = 'list', ...rest] = args;
  if (command === 'help' || args.some((it) => it === '--help' || it === '-h')) return USAGE;
  if (!isCommand(command)) throw misused(`There is no command ${command}.`);
  const isAll = command === 'replay' && rest[0] === ALL;
  const option = rest.slice(isAll ? 1 : 0).find((it) => it.startsWith('-'));
  if (option !== undefined) throw misused(`${command} has no option ${option}.`);
  const { least, most, needs } = ARGUMENTS[command];
  if (rest.length < least) throw misused(`${command} needs ${needs}.`);
  const extra = rest.slice(isAll ? 1 : most);
  if (extra.length > 0) throw misused(`${command} does not take ${extra.join(' ')} as well.`);
  const [first = '', second = ''] = rest;
  switch (command) {
    case 'list':
      return list(call);
    case 'show':
      return show(call, first);
    case 'replay':
      return isAll ? replayAll(call) : replay(call, rest);
    case 'purge':
      return purge(call, rest);
    case 'pause':
    case 'resume':
      await checkLane(call, first, second);
      await call('PUT', `${QUEUES}/${encodeURIComponent(first)}/${encodeURIComponent(second)}`, {
        paused: command === 'pause',
      });
      return `${first} ${second} is ${command === 'pause' ? 'paused' : 'running'}.\n`;
  }
}

const isCommand = (name: string): name is keyof typeof ARGUMENTS => Object.hasOwn(ARGUMENTS, name);

function misused(problem: string): StartError {
  return new StartError(`${problem}\n\n${USAGE.trimEnd()}`);
}

/** Throws a StartError that names the queues, or the lanes of the queue, unless this is one of them. */
async function checkLane(call: Call, queue: string, lane?: string): Promise<void> {
  const lanes = (await call('GET', QUEUES)) as Lane[];
  const own = lanes.filter((it) => it.queue === queue);
  const queues = [...new Set(lanes.map((it) => it.queue))].join(', ');
  if (own.length === 0) throw new StartError(`There is no queue ${queue}. The queues are: ${queues}.`);
  if (lane === undefined || own.some((it) => it.lane === lane)) return;
  throw new StartError(
    `${queue} has no lane ${lane}. Its lanes are: ${own.map((it) => it.lane).join(', ')}.`,
  );
}

/** Undefined if the response was that there is no such thing. */
async function ifThere(response: Promise<unknown>): Promise<{ body: unknown } | undefined> {
  try {
    return { body: await response };
  } catch (error) {
    if (error instanceof RefusedError && error.status === 404) return undefined;
    throw error;
  }
}

function thereIsNo(ids: readonly string[]): string {
  return `There is no dead letter ${ids.join(', ')}. list shows their ids: that of the notification ntf_… is ntf_…-1.`;
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
    String(attemptsOf(lane)),
    sum(lane, 'dead_letters'),
  ]);
  const head = ['QUEUE LANE', 'STATE', 'WAITING', 'IN PROGRESS', 'OLDEST', 'ATTEMPTS', 'DEAD'];
  const failing = lanes.flatMap(({ queue, lane, failing }) =>
    failing === null ? [] : [`${queue} ${lane} fails since ${failing.since}: ${failing.error}`],
  );
  const owners = lanes.flatMap(({ queue, lane, owners = [] }) =>
    owners.map(({ owner, slot_seconds: seconds }) => [`${queue} ${lane}`, owner, `${seconds} s`]),
  );
  const dead = letters.map(({ id, queue, lane, attempts, failed_at: failedAt, error }) => [
    ...[id, `${queue} ${lane}`, failedAt, String(attempts), error],
  ]);
  return [
    table([head, ...rows]),
    ...failing.map((line) => `${line}\n`),
    ...(owners.length === 0 ? [] : [table([['QUEUE LANE', 'OWNER', 'SLOT-TIME'], ...owners])]),
    dead.length === 0
      ? 'There are no dead letters.\n'
      : table([['DEAD LETTER', 'QUEUE LANE', 'FAILED AT', 'ATTEMPTS', 'ERROR'], ...dead]),
  ].join('\n');
}

/** The outcomes of attempts that count: a postponed attempt does not. */
function attemptsOf({ attempts: { postponed: _, ...counted } }: Lane): number {
  return Object.values(counted).reduce((total, count) => total + count, 0);
}

async function show(call: Call, id: string): Promise<string> {
  const letter = await ifThere(call('GET', letterPath(id)));
  if (letter === undefined) throw new StartError(thereIsNo([id]));
  return `${JSON.stringify(letter.body, null, 2)}\n`;
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
  return done(count, 'replayed', missing);
}

async function replayAll(call: Call): Promise<string> {
  const letters = await readAll(call);
  return replay(
    call,
    letters.map(({ id }) => id),
  );
}

/** Throws a StartError if there were some that it could not be done to. */
function done(count: number, what: string, missing: readonly string[]): string {
  const text = `${count} ${what}.`;
  if (missing.length > 0) throw new StartError(`${text} ${thereIsNo(missing)}`);
  return `${text}\n`;
}

/** The id of a dead letter has an underscore, and no name of a queue has one. */
async function purge(call: Call, [first = '', ...rest]: readonly string[]): Promise<string> {
  if (first.includes('_')) {
    const ids = [first, ...rest];
    const missing: string[] = [];
    for (const id of ids) {
      if ((await ifThere(call('DELETE', letterPath(id)))) === undefined) missing.push(id);
    }
    return done(ids.length - missing.length, 'removed', missing);
  }
  const [lane, ...more] = rest;
  if (more.length > 0) throw misused(`purge does not take ${more.join(' ')} as well.`);
  await checkLane(call, first, lane);
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
