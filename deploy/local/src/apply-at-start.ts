import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ApiError, createApiClient } from '@gatehouse/cli/api-client';
import { apply } from '@gatehouse/cli/configuration/commands';
import { CliError } from '@gatehouse/cli/errors';
import type { Demo } from './demo.ts';
import { StartError } from './start-error.ts';

/** The configuration file of `npm start -- --config FILE`, relative to the directory in which npm was started. Throws a StartError. */
export function configurationIn(args: readonly string[], startedIn = '.'): string | undefined {
  try {
    const options = { config: { type: 'string' } } as const;
    const { values } = parseArgs({ args: [...args], options, allowPositionals: true });
    return values.config === undefined ? undefined : resolve(startedIn, values.config);
  } catch (error) {
    throw new StartError(`${(error as Error).message} Usage: npm start -- --config FILE`);
  }
}

/** Applies a configuration file as the first admin. Throws a StartError with each mistake on a line. */
export async function applyAtStart(
  path: string,
  { url, admin, env }: { url: string; admin: Demo['admin']; env: NodeJS.ProcessEnv },
): Promise<void> {
  async function connect() {
    const { username, password } = admin;
    const anonymous = createApiClient({ url, userAgent: 'gatehouse' });
    const { body } = await anonymous.request('POST', '/api/v1/auth/login', { body: { username, password } });
    return createApiClient({ url, token: async () => body.token, userAgent: 'gatehouse' });
  }
  const print = (text: string) => void process.stdout.write(`${text}\n`);
  const output = { json: false, result: (_: unknown, text: string) => print(text), note: print };
  try {
    await apply({ connect, env, output, confirm: undefined }, path, { yes: true });
  } catch (error) {
    if (!(error instanceof CliError || error instanceof ApiError)) throw error;
    throw new StartError(`${path} cannot be applied.\n${error.message}`);
  }
}
