import { execFileSync } from 'node:child_process';
import { basename, dirname, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import type { ApiClient } from '../api-client.ts';
import { CliError } from '../errors.ts';
import { cell, type Output, withoutControls } from '../output.ts';
import type { Session } from '../session.ts';
import { applyPlan, ConflictError, checkPlan, withLease } from './apply.ts';
import { connectDeployer } from './deployer.ts';
import { createDeployment } from './deployment.ts';
import { exportConfiguration, toYaml } from './export.ts';
import { readConfiguration } from './file.ts';
import { readSchema } from './kind.ts';
import { type Change, planOf } from './plan.ts';
import { createReferences } from './references.ts';

/** The surroundings of the commands. */
export type Surroundings = {
  /** A client of the deployment, for the person who has signed in or the deployer. */
  connect(): Promise<ApiClient>;
  env: Readonly<Record<string, string | undefined>>;
  output: Pick<Output, 'json' | 'result' | 'note'>;
  /** Asks before changes. Rejects when the person says no. Undefined without a terminal. */
  confirm: ((question: string) => Promise<void>) | undefined;
};

type Flags = { yes?: boolean; prune?: boolean; show?: boolean };

/** Adds the commands export, plan and apply. `exit` takes the exit status of a command that has no error. */
export function addConfiguration(program: Command, session: Session, exit: (status: number) => void): void {
  const surroundings = (): Surroundings => {
    const { deployment, env, output, isAttended, confirm } = session();
    return {
      ...{ env, output, confirm: isAttended ? confirm : undefined },
      connect: async () =>
        env.GATEHOUSE_CLIENT_ID === undefined
          ? deployment.api()
          : connectDeployer({ url: await deployment.url(), userAgent: 'gatehouse', env }),
    };
  };
  program
    .command('export')
    .description('Print the configuration of the deployment as YAML, without its secrets.')
    .action(() => printExport(surroundings()));
  program
    .command('plan <path>')
    .description(
      'Show how the deployment differs from a file or folder. The exit status is 0 without changes, 2 with changes, 1 after an error.',
    )
    .option('--prune', 'also delete objects that only the deployment has')
    .action(async (path: string, flags: Flags) => exit(await plan(surroundings(), path, flags)));
  program
    .command('apply <path>')
    .description('Change the deployment to match a file or folder.')
    .option('--prune', 'also delete objects that only the deployment has')
    .option('--yes', 'do not ask')
    .option('--show', 'print the secrets of new objects, which are not shown again')
    .action((path: string, flags: Flags) => apply(surroundings(), path, flags));
}

/** Prints the configuration of the deployment. */
export async function printExport({ connect, output }: Surroundings): Promise<void> {
  const client = await connect();
  const { kinds } = await readSchema(client);
  const deployment = createDeployment(client, output);
  const references = createReferences(deployment, kinds);
  const configuration = await exportConfiguration(kinds, { deployment, references, url: client.url });
  output.result(configuration, toYaml(configuration).trimEnd());
}

/** Prepares plans: differences between files and the deployment, which the deployment has checked. */
async function prepare({ connect, env, output }: Surroundings, path: string, { prune = false }: Flags) {
  const client = await connect();
  const { schema, kinds } = await readSchema(client);
  const options = { note: output.note, headers: { 'gatehouse-configuration': appliedFile(path) } };
  async function planNow() {
    const deployment = createDeployment(client, options);
    const references = createReferences(deployment, kinds);
    const configuration = readConfiguration({ path, schema, kinds, env });
    const changes = await planOf(configuration, kinds, {
      ...{ deployment, references, prune },
      me: await deployment.me(),
    });
    await checkPlan(changes, { deployment, references });
    return { changes, deployment, references };
  }
  return { planNow, deployment: createDeployment(client, options) };
}

/** Prints how the deployment differs from files; resolves to the exit status. Throws a CliError. */
export async function plan(surroundings: Surroundings, path: string, flags: Flags): Promise<0 | 2> {
  const { planNow } = await prepare(surroundings, path, flags);
  const { changes } = await planNow();
  surroundings.output.result({ changes: changes.map(summary) }, textOf(changes));
  return changes.length === 0 ? 0 : 2;
}

/** Applies files. Throws a CliError. */
export async function apply(surroundings: Surroundings, path: string, flags: Flags): Promise<void> {
  const { output, confirm } = surroundings;
  const { planNow, deployment } = await prepare(surroundings, path, flags);
  let shown: Change[] | undefined;
  if (!flags.yes) {
    shown = (await planNow()).changes;
    output.note(textOf(shown));
    if (shown.length === 0) return;
    if (confirm === undefined)
      throw new CliError(
        'Nothing was changed: there is no terminal to ask you. To apply the changes, use --yes.',
      );
    await confirm('Apply these changes?');
  }
  await withLease(deployment, async (requireLease) => {
    const now = await planNow();
    if (shown !== undefined && !isDeepStrictEqual(shown.map(summary), now.changes.map(summary)))
      throw new ConflictError('the deployment has changed since the plan was made. Try again.');
    if (shown === undefined && !output.json) output.note(textOf(now.changes));
    const done: object[] = [];
    const secrets: string[] = [];
    await applyPlan(now.changes, {
      ...now,
      requireLease,
      onDone(change, response) {
        const shownOnce = ['client_secret', 'secret'].filter(
          (name) => flags.show && response[name] !== undefined,
        );
        done.push({
          ...summary(change),
          ...Object.fromEntries(shownOnce.map((name) => [name, response[name]])),
        });
        secrets.push(
          ...shownOnce.map((name) => withoutControls(`${change.name}: ${name} ${response[name]}`)),
        );
      },
    });
    output.result({ changes: done }, [...secrets, `${counted(done.length)} applied.`].join('\n'));
  });
}

const summary = ({ action, kind, name, fields }: Change) => ({ action, kind: kind.kind, name, fields });
const counted = (count: number) => `${count} change${count === 1 ? '' : 's'}`;
const SIGNS = { create: '+', change: '~', delete: '-' };

/** A plan for people. */
function textOf(changes: readonly Change[]): string {
  if (changes.length === 0) return 'No changes.';
  const show = (value: unknown) => (value === undefined ? '(secret)' : JSON.stringify(value).slice(0, 500));
  const lines = changes.flatMap(({ action, name, fields }) => [
    `${SIGNS[action]} ${cell(name)}`,
    ...fields.map(({ field, ...values }) =>
      cell(
        action === 'change' && 'after' in values
          ? `    ${field}: ${show(values.before ?? null)} → ${show(values.after)}`
          : `    ${field}: ${show(values.after)}`,
      ),
    ),
  ]);
  return `${lines.join('\n')}\n${counted(changes.length)}.`;
}

/** The header that names the file, and the commit of its folder (RFC 9651 §3.2). */
function appliedFile(path: string): string {
  const file = basename(resolve(path))
    .replaceAll(/[^\x20-\x7e]|["\\]/g, '?')
    .slice(0, 200);
  try {
    const git = ['-C', dirname(resolve(path)), 'rev-parse', 'HEAD'];
    const commit = execFileSync('git', git, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    return /^[0-9a-f]{40,64}$/.test(commit) ? `file="${file}", commit="${commit}"` : `file="${file}"`;
  } catch {
    // No repository, or no git.
    return `file="${file}"`;
  }
}
