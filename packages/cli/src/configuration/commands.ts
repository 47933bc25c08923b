import { execFileSync } from 'node:child_process';
import { basename, dirname, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import type { ApiClient } from '../api-client.ts';
import { applyPlan, ConflictError, checkPlan, withLease } from './apply.ts';
import { createDeployment } from './deployment.ts';
import { exportConfiguration, toYaml } from './export.ts';
import { readConfiguration } from './file.ts';
import { readSchema } from './kind.ts';
import { type Change, planOf } from './plan.ts';
import { createReferences } from './references.ts';

/** The surroundings of the commands. */
export type Surroundings = {
  /** A client of the deployment, for the person who has signed in. */
  connect(): Promise<ApiClient>;
  env: Readonly<Record<string, string | undefined>>;
  /** Writes results; `note` writes everything else. */
  print(text: string): void;
  note(text: string): void;
  /** Asks a question, where there is a terminal. */
  ask?: ((question: string) => Promise<string>) | undefined;
};

type Flags = { yes?: boolean; prune?: boolean; json?: boolean; show?: boolean };

/** Adds the commands export, plan and apply, which pass the exit status on. */
export function addConfigurationCommands(
  program: Command,
  surroundings: Surroundings,
  exit: (status: number) => void,
): void {
  program
    .command('export')
    .description('print the configuration of the deployment, without its secrets')
    .option('--json', 'print JSON instead of YAML')
    .action(async ({ json }: Flags) => exit(await printExport(surroundings, { json: json === true })));
  for (const name of ['plan', 'apply'] as const) {
    const command = program
      .command(`${name} <path>`)
      .description(
        name === 'plan'
          ? 'show how the deployment differs from a file or folder: 0 for no changes, 2 for changes'
          : 'make the deployment as a file or folder says',
      )
      .option('--prune', 'also delete what only the deployment has')
      .option('--json', 'print JSON');
    if (name === 'apply')
      command
        .option('--yes', 'apply without asking')
        .option('--show', 'print the secrets of what is created: they are shown only once');
    command.action(async (path: string, flags: Flags) =>
      exit(await (name === 'plan' ? plan : apply)(surroundings, path, flags)),
    );
  }
}

/** Prints the configuration of the deployment; resolves to the exit status. */
export async function printExport(
  { connect, print }: Surroundings,
  { json }: { json: boolean },
): Promise<number> {
  const client = await connect();
  const { kinds } = await readSchema(client);
  const deployment = createDeployment(client);
  const references = createReferences(deployment, kinds);
  const configuration = await exportConfiguration(kinds, { deployment, references, url: client.url });
  print(json ? `${JSON.stringify(configuration, undefined, 2)}\n` : toYaml(configuration));
  return 0;
}

/** The differences between files and the deployment as it is now, which the deployment has checked. */
async function prepare({ connect, env }: Surroundings, path: string, { prune = false }: Flags) {
  const client = await connect();
  const { schema, kinds } = await readSchema(client);
  const headers = { 'gatehouse-configuration': appliedFile(path) };
  async function planNow() {
    const deployment = createDeployment(client, headers);
    const references = createReferences(deployment, kinds);
    const configuration = readConfiguration({ path, schema, kinds, env });
    const options = { deployment, references, me: await deployment.me(), prune };
    const changes = await planOf(configuration, kinds, options);
    await checkPlan(changes, options);
    return { changes, deployment, references };
  }
  return { planNow, deployment: createDeployment(client, headers) };
}

/** Prints how the deployment differs from files; resolves to the exit status. Throws a CliError. */
export async function plan(surroundings: Surroundings, path: string, flags: Flags): Promise<number> {
  const { planNow } = await prepare(surroundings, path, flags);
  const { changes } = await planNow();
  surroundings.print(
    flags.json ? `${JSON.stringify({ changes: changes.map(summary) }, undefined, 2)}\n` : textOf(changes),
  );
  return changes.length === 0 ? 0 : 2;
}

/** Applies files; resolves to the exit status. Throws a CliError. */
export async function apply(surroundings: Surroundings, path: string, flags: Flags): Promise<number> {
  const { print, note, ask } = surroundings;
  const { planNow, deployment } = await prepare(surroundings, path, flags);
  let shown: Change[] | undefined;
  if (!flags.yes) {
    shown = (await planNow()).changes;
    (flags.json ? note : print)(textOf(shown));
    if (shown.length === 0) return 0;
    if (ask === undefined) {
      note('Nothing was changed: there is no terminal to ask you. Use --yes to apply it.');
      return 1;
    }
    if (!/^y(?:es)?$/i.test((await ask('Apply these changes? [y/N] ')).trim())) {
      note('Nothing was changed.');
      return 1;
    }
  }
  return withLease(deployment, async (requireLease) => {
    const now = await planNow();
    if (shown !== undefined && !isDeepStrictEqual(shown.map(summary), now.changes.map(summary)))
      throw new ConflictError('the deployment has changed since the plan was made. Try again.');
    if (shown === undefined && !flags.json) print(textOf(now.changes));
    const done: object[] = [];
    await applyPlan(now.changes, {
      ...now,
      requireLease,
      onDone(change, { client_secret, secret }) {
        const secrets = flags.show
          ? Object.entries({ client_secret, secret }).filter(([, it]) => it !== undefined)
          : [];
        done.push({ ...summary(change), ...Object.fromEntries(secrets) });
        if (!flags.json) for (const [name, value] of secrets) print(`${change.name}: ${name} ${value}\n`);
      },
    });
    print(
      flags.json
        ? `${JSON.stringify({ changes: done }, undefined, 2)}\n`
        : `${counted(done.length)} applied.\n`,
    );
    return 0;
  });
}

const summary = ({ action, kind, name, fields }: Change) => ({ action, kind: kind.kind, name, fields });
const counted = (count: number) => `${count} change${count === 1 ? '' : 's'}`;
const SIGNS = { create: '+', change: '~', delete: '-' };

/** A plan for people. */
function textOf(changes: readonly Change[]): string {
  if (changes.length === 0) return 'No changes.\n';
  const show = (value: unknown) => (value === undefined ? '(secret)' : JSON.stringify(value).slice(0, 500));
  const lines = changes.flatMap(({ action, name, fields }) => [
    `${SIGNS[action]} ${plain(name)}`,
    ...fields.map(({ field, ...values }) =>
      plain(
        action === 'change' && 'after' in values
          ? `    ${field}: ${show(values.before ?? null)} → ${show(values.after)}`
          : `    ${field}: ${show(values.after)}`,
      ),
    ),
  ]);
  return `${lines.join('\n')}\n${counted(changes.length)}.\n`;
}

/** Names that others chose cannot steer the terminal. */
const plain = (text: string) => text.replaceAll(/\p{Cc}|\p{Bidi_Control}/gu, '�');

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

/** Asks a question in a terminal. */
export async function askInTerminal(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}
