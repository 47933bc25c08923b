import { join } from 'node:path';
import type { Logger } from '@gatehouse/core/logger';
import { debian13Files } from '@gatehouse/local-mongo/debian-files';
import { findExecutable } from '@gatehouse/local-mongo/executable';

/** Names the program of the run to the test files; empty when this machine has none. */
export const NATS_SERVER_VARIABLE = 'GATEHOUSE_TEST_NATS_SERVER';

const PROGRAM = {
  packages: ['nats-server'],
  folder: 'usr/sbin',
  name: 'debian-13-nats-server',
  noun: "Debian 13's programs",
  fetching: "Debian 13's nats-server for the tests, once (6 MB)",
};

/** The path of an installed nats-server. Debian installs it where only root's PATH leads. */
export function installedNatsServer(env: NodeJS.ProcessEnv): string | undefined {
  return findExecutable('nats-server', env, '/usr/sbin');
}

/**
 * The path of a nats-server: an installed one, or else that of Debian.
 * @throws ProviderError that says why there is none
 */
export async function findNatsServer(env: NodeJS.ProcessEnv, logger: Logger): Promise<string> {
  return installedNatsServer(env) ?? (await debianNatsServer(env, logger));
}

/** The path of Debian's nats-server, from the user's cache or fetched through apt. */
export async function debianNatsServer(env: NodeJS.ProcessEnv, logger: Logger): Promise<string> {
  return join(await debian13Files(PROGRAM, env, logger), 'nats-server');
}
