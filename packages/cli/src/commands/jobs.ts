import type { Command } from 'commander';
import { readRows } from '../collections.ts';
import { CliError, UsageError } from '../errors.ts';
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
  priorities: Record<'waiting' | 'in_flight' | 'oldest_seconds' | 'dead_letters', number>[];
};

/** The commands for the job queues, which are for admins. */
export function addJobs(program: Command, session: Session): void {
  const jobs = program.command('jobs').description('Manage the job queues of the deployment.');
  const open = async () => ({ ...session(), api: await session().deployment.api() });

  jobs
    .command('list', { isDefault: true })
    .description('List the lanes of the queues, and the dead letters.')
    .action(async () => {
      const { api, output } = await open();
      const { body: queues } = await api.request('GET', QUEUES);
      const { rows: letters } = await readRows(api, LETTERS, { limit: 1000 });
      const sum = ({ priorities }: Lane, field: keyof Lane['priorities'][number]) =>
        priorities.reduce((sum, it) => sum + it[field], 0);
      const rows = (queues as Lane[]).map((it) => [
        ...[
          it.queue,
          it.lane,
          it.paused ? 'paused' : it.failing === null ? 'running' : `failing: ${it.failing.error}`,
        ],
        ...[sum(it, 'waiting'), sum(it, 'in_flight'), sum(it, 'dead_letters')],
      ]);
      const dead = letters.map((it) =>
        ['id', 'queue', 'lane', 'failed_at', 'attempts', 'error'].map((field) => it[field]),
      );
      const text = [
        output.table(['QUEUE', 'LANE', 'STATE', 'WAITING', 'IN PROGRESS', 'DEAD'], rows),
        dead.length === 0
          ? 'There are no dead letters.'
          : output.table(['DEAD LETTER', 'QUEUE', 'LANE', 'FAILED', 'ATTEMPTS', 'ERROR'], dead),
      ];
      output.result({ queues, dead_letters: letters }, text.join('\n\n'));
    });

  jobs
    .command('show <id>')
    .description('Show a dead letter.')
    .action(async (id: string) => {
      const { api, output } = await open();
      const { body } = await api.request('GET', `${LETTERS}/${encodeURIComponent(id)}`);
      output.result(body, output.facts(body));
    });

  jobs
    .command('replay [ids...]')
    .option('--all', 'all dead letters')
    .description('Put dead letters back into their queues.')
    .action(async (given: string[], { all }: { all?: true }) => {
      if ((given.length === 0) === (all === undefined))
        throw new UsageError('Name the ids of dead letters, or --all.');
      const { api, output } = await open();
      const letters = all ? (await readRows(api, LETTERS, { limit: Number.POSITIVE_INFINITY })).rows : [];
      const ids = all ? letters.map(({ id }) => id) : given;
      const sum: { replayed: number; unknown: string[] } = { replayed: 0, unknown: [] };
      for (let at = 0; at < ids.length; at += PAGE) {
        const { body } = await api.request('POST', LETTERS, { body: { ids: ids.slice(at, at + PAGE) } });
        sum.replayed += body.replayed;
        sum.unknown.push(...body.unknown);
      }
      output.result(sum, `${sum.replayed} replayed.`);
      if (sum.unknown.length > 0)
        throw new CliError(
          `There is no dead letter ${sum.unknown.join(', ')}. \`gatehouse jobs\` lists them.`,
        );
    });

  jobs
    .command('purge <ids...>')
    .description('Remove dead letters.')
    .action(async (ids: string[]) => {
      const { api, output } = await open();
      for (const id of ids) await api.request('DELETE', `${LETTERS}/${encodeURIComponent(id)}`);
      output.result({ removed: ids.length }, `${ids.length} removed.`);
    });

  for (const [verb, paused] of [
    ['pause', true],
    ['resume', false],
  ] as const) {
    jobs
      .command(`${verb} <queue> <lane>`)
      .description(paused ? 'Keep the jobs of a lane until it is resumed.' : 'Go on with the jobs of a lane.')
      .action(async (queue: string, lane: string) => {
        const { api, output } = await open();
        await api.request('PUT', `${QUEUES}/${encodeURIComponent(queue)}/${encodeURIComponent(lane)}`, {
          body: { paused },
        });
        output.result({ queue, lane, paused }, `${queue} ${lane} is ${paused ? 'paused' : 'running'}.`);
      });
  }
}
