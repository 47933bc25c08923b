import { Command, CommanderError } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { ApiError } from './api-client.ts';
import { addCollections } from './commands/collections.ts';
import { addEvents } from './commands/events.ts';
import { addLogs } from './commands/follow.ts';
import { addIdentity } from './commands/identity.ts';
import { addJobs } from './commands/jobs.ts';
import { addTokens } from './commands/tokens.ts';
import { addCompletion } from './completion.ts';
import { addConfiguration } from './configuration/commands.ts';
import { UsageError } from './errors.ts';
import { withoutControls } from './output.ts';
import { createSession, type Surroundings } from './session.ts';

/** Runs a command line, and returns its exit status: 0, 2 for a mistake in it, or 1 for any other failure. */
export async function run(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const { stderr } = surroundings;
  let status = 0;
  const program = createProgram(surroundings, (of) => {
    status = of;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return status;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    // commander has written its message itself.
    if (!(error instanceof CommanderError)) stderr.write(`${withoutControls(sentenceOf(error))}\n`);
    // With `plan`, 2 means that there are changes.
    const isUsage = error instanceof CommanderError || error instanceof UsageError;
    return isUsage && !args.includes('plan') ? 2 : 1;
  }
}

function createProgram(surroundings: Surroundings, exit: (status: number) => void): Command {
  const { stdout, stderr } = surroundings;
  const program = new Command('gatehouse')
    .description('Operate a Gatehouse deployment, and develop against it.')
    .version(manifest.version)
    .option('--url <url>', 'the deployment (GATEHOUSE_URL)')
    .option('--profile <name>', 'the profile; each has its own sign-in (GATEHOUSE_PROFILE)')
    .option('--json', 'print results as JSON, with the field names of the API')
    .option('--no-browser', 'print the addresses of pages instead of opening them')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
    .exitOverride()
    .addHelpText('after', HELP);
  const session = createSession(program, surroundings);
  addIdentity(program, session);
  addCollections(program, session);
  addLogs(program, session);
  addEvents(program, session);
  addTokens(program, session);
  addJobs(program, session);
  addConfiguration(program, session, exit);
  addCompletion(program, (text) => stdout.write(`${text}\n`));
  return program;
}

const HELP = `
Environment:
  GATEHOUSE_URL      the deployment, such as https://gatehouse.example.com
  GATEHOUSE_PROFILE  the profile, by default "default"
  GATEHOUSE_TOKEN    an access token or an API key for programs, in place of the sign-in
  GATEHOUSE_CLIENT_ID, GATEHOUSE_CLIENT_SECRET or GATEHOUSE_CLIENT_ASSERTION_FILE
                     the credentials of a deployer, for export, plan and apply in a pipeline
  GATEHOUSE_KEYRING  off keeps tokens in a file instead of the system's keyring
  NO_COLOR           switches colours off

Begin with \`gatehouse login --url URL\`.`;

/** The sentence about a failure. The sentences of the API say what to do. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof ApiError) || error.status < 500) return error.message;
  const id = error.headers.get('x-request-id');
  return id === null
    ? error.message
    : `${error.message} In the log of the deployment, the request has the id ${id}.`;
}
