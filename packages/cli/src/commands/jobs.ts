import type { Command } from 'commander';
import { ApiError } from '../api-client.ts';
import { readRows } from '../collections.ts';
import { CliError, UsageError } from '../errors.ts';
import type { Output } from '../output.ts';
import type { Session } from '../session.ts';

const LETTERS = '/api/v1/dead-letters';
const QUEUES = '/api/v1/queues';
/** As many as one request may replay. */
const PAGE = 100;

type Lane = {
  queue: string;
  lane: string;
  paused: boolean;
  failing: { since: string; error: string } | null;
  attempts: Record<string, number>;
  owners: { owner: string; slot_seconds: number }[];
  priorities: { waiting: number; in_flight: number; oldest_seconds: number; dead_letters: number }[];
};

const LANE_FIELDS = [
  'queue',
  'lane',
  'state',
  'waiting',
  'in_progress',
  'oldest',
  'attempts',
  'dead',
  'error',
];
const HELP = `
Columns of the lanes:
  WAITING      jobs that no worker has taken yet
  IN PROGRESS  jobs that are running or wait for another attempt
  OLDEST       the age of the oldest of these jobs
  ATTEMPTS     the number of attempts so far, without postponed ones
  DEAD         dead letters: jobs whose attempts have all failed
The table of owners has those whose jobs took the most time in the last hour or so.
The dead letter of the notification ntf_… has the id ntf_…-1.`;

/** The commands for the job queues, which are for admins. */
export function addJobs(program: Command, session: Session): void {
  const jobs = program.command('jobs').description('Manage the job queues of the deployment. For admins.');
  const open = async () => ({ ...session(), api: await session().deployment.api() });
  const letter = (id: string) => `${LETTERS}/${encodeURIComponent(id)}`;

  jobs
    .command('list', { isDefault: true })
    .description('List the lanes of the queues, and the dead letters.')
    .addHelpText('after', HELP)
    .action(async () => {
      const { api, output } = await open();
      const queues: Lane[] = (await api.request('GET', QUEUES)).body;
      const { rows: letters } = await readRows(api, LETTERS);
      const owners = queues.flatMap(({ queue, lane, owners }) =>
        owners.map((it) => ({ queue, lane, ...it })),
      );
      const text = [
        output.table(LANE_FIELDS, queues.map(laneRow)),
        ...(owners.length === 0 ? [] : [output.table(['queue', 'lane', 'owner', 'slot_seconds'], owners)]),
        letters.length === 0
          ? 'There are no dead letters.'
          : output.table(['id', 'queue', 'lane', 'failed_at', 'attempts', 'error'], letters),
      ];
      output.result({ queues, dead_letters: letters }, text.join('\n\n'));
    });

  jobs
    .command('show <id>')
    .description('Show a dead letter.')
    .action(async (id: string) => {
      const { api, output } = await open();
      const { body } = await api.request('GET', letter(id));
      output.result(body, output.facts(body));
    });

  jobs
    .command('replay [ids...]')
    .option('--all', 'all dead letters')
    .description('Put dead letters back into their queues.')
    .action(async (given: string[], { all }: { all?: true }) => {
      if ((given.length === 0) === (all === undefined))
        throw new UsageError('Name the ids of dead letters, or use --all.');
      const { api, output } = await open();
      const ids = all ? (await readRows(api, LETTERS)).rows.map(({ id }) => id) : given;
      let count = 0;
      const unknown: string[] = [];
      for (let at = 0; at < ids.length; at += PAGE) {
        const { body } = await api.request('POST', LETTERS, { body: { ids: ids.slice(at, at + PAGE) } });
        count += body.replayed;
        unknown.push(...body.unknown);
      }
      report(output, { replayed: count, unknown });
    });

  jobs
    .command('purge [ids...]')
    .option('--queue <queue>', 'all dead letters of this queue')
    .option('--lane <lane>', 'only those of this lane of the queue')
    .option('-y, --yes', 'do not ask')
    .description('Remove dead letters.')
    .action(async (ids: string[], options: { queue?: string; lane?: string; yes?: true }) => {
      const { yes, ...query } = options;
      if ((ids.length === 0) === (query.queue === undefined))
        throw new UsageError('Name the ids of dead letters, or a queue with --queue.');
      const { api, output, confirm } = await open();
      const { queue, lane = '(all lanes)' } = query;
      const letters = queue ? `all dead letters of ${queue} ${lane}` : `the dead letters ${ids.join(', ')}`;
      if (yes !== true) await confirm(`Remove ${letters} for good?`);
      const unknown: string[] = [];
      for (const id of ids)
        await api.request('DELETE', letter(id)).catch((error) => {
          if (!(error instanceof ApiError && error.status === 404)) throw error;
          unknown.push(id);
        });
      const all = query.queue && (await api.request('DELETE', LETTERS, { query })).body.removed;
      report(output, { removed: all ?? ids.length - unknown.length, unknown });
    });

  for (const { verb, paused, state, description } of [
    {
      verb: 'pause',
      paused: true,
      state: 'paused',
      description: 'Stop a lane. Its jobs wait until you resume it.',
    },
    {
      verb: 'resume',
      paused: false,
      state: 'running',
      description: 'Start a paused lane again.',
    },
  ]) {
    jobs
      .command(`${verb} <queue> <lane>`)
      .description(description)
      .action(async (queue: string, lane: string) => {
        const { api, output } = await open();
        const path = `${QUEUES}/${encodeURIComponent(queue)}/${encodeURIComponent(lane)}`;
        await api.request('PUT', path, { body: { paused } });
        output.result({ queue, lane, paused }, `${queue} ${lane} is ${state}.`);
      });
  }
}

/** A lane with the sums of its priorities. */
function laneRow({ queue, lane, paused, failing, attempts, priorities }: Lane) {
  const sum = (numbers: number[]) => numbers.reduce((total, it) => total + it, 0);
  const { postponed: _, ...counted } = attempts;
  return {
    ...{ queue, lane, state: paused ? 'paused' : failing === null ? 'running' : 'failing' },
    waiting: sum(priorities.map((it) => it.waiting)),
    in_progress: sum(priorities.map((it) => it.in_flight)),
    oldest: `${Math.round(Math.max(0, ...priorities.map((it) => it.oldest_seconds)))} s`,
    attempts: sum(Object.values(counted)),
    dead: sum(priorities.map((it) => it.dead_letters)),
    error: failing && `since ${failing.since}: ${failing.error}`,
  };
}

/** Prints the number of dead letters. Throws a CliError where there were none with some of the ids. */
function report(
  output: Output,
  { unknown, ...counts }: { unknown: readonly string[]; [verb: string]: unknown },
) {
  const [[verb, count]] = Object.entries(counts) as [[string, number]];
  output.result({ ...counts, unknown }, `${count} ${verb}.`);
  if (unknown.length > 0)
    throw new CliError(
      `There is no dead letter ${unknown.join(', ')}. To see them all, run \`gatehouse jobs\`.`,
    );
}
