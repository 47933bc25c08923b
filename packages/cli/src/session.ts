import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import type { Command } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { createDeployment, openInBrowser } from './deployment.ts';
import { CliError, UsageError } from './errors.ts';
import { createOutput } from './output.ts';
import { createProfiles } from './profiles.ts';
import { createSignIn } from './sign-in.ts';

/** The parts of the process that commands use. */
export type Surroundings = {
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable & { isTTY?: boolean };
};

/** The parts of a running command, which follow the global options. */
export type Session = ReturnType<typeof createSession>;

export function createSession(program: Command, { env, platform, stdin, stdout, stderr }: Surroundings) {
  const userAgent = `gatehouse/${manifest.version} (${platform})`;
  const isAttended = stdin.isTTY === true && stderr.isTTY === true;
  return () => {
    const options = program.opts<{ url?: string; profile?: string; json?: true; browser: boolean }>();
    const colors = stdout.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
    const output = createOutput({ stdout, stderr, json: options.json === true, colors });
    const profiles = createProfiles(env, platform);
    const signIn = createSignIn(userAgent);
    const openPage =
      isAttended && options.browser ? (url: string) => openInBrowser(url, platform) : undefined;
    return {
      ...{ env, output, profiles, signIn, openPage, isAttended },
      deployment: createDeployment({
        ...{ profiles, signIn, output, userAgent, openPage },
        url: options.url ?? (env.GATEHOUSE_URL || undefined),
        profile: options.profile ?? (env.GATEHOUSE_PROFILE || 'default'),
        token: env.GATEHOUSE_TOKEN || undefined,
      }),
      /** Asks the person in a terminal; without one, it goes on. Rejects with a CliError when the person says no. */
      async confirm(question: string): Promise<void> {
        if (!isAttended) return;
        const asking = createInterface({ input: stdin, output: stderr });
        const response = await asking.question(`${question} [y/N] `);
        asking.close();
        if (!/^y(?:es)?$/i.test(response.trim())) throw new CliError('Nothing was changed.');
      },
      /** The secret in an argument. For `-`, it is read from stdin, where other users of the machine cannot see it. */
      async secretOf(argument: string): Promise<string> {
        const secret = argument === '-' ? (await readText(stdin)).trim() : argument;
        if (secret === '') throw new UsageError('There is no token in stdin.');
        return secret;
      },
    };
  };
}
