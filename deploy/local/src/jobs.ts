import { readOrExit } from '@gatehouse/kit/process';
import { readIfThere } from './data-dir.ts';
import { type Demo, demoFile } from './demo.ts';
import { runJobsCommand } from './jobs-command.ts';
import { readJobsSettings } from './settings.ts';
import { StartError } from './start-error.ts';

// `npm run jobs`: shows and steers the queues of a deployment. Of npm start as its admin, while it runs; of another with
// GATEHOUSE_URL and GATEHOUSE_TOKEN, an access token or an API key of an admin.
const settings = readOrExit(readJobsSettings);
try {
  let deployed: ReturnType<typeof deployment> | undefined;
  const output = await runJobsCommand(process.argv.slice(2), async (method, path, body) => {
    deployed ??= deployment();
    const { base, token } = await deployed;
    return request(base + path, { method, token, body });
  });
  process.stdout.write(output);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

async function deployment(): Promise<{ base: string; token: string }> {
  const { url, token, dataDir } = settings;
  if (url !== undefined && token !== undefined) return { base: url, token };
  if (url !== undefined || token !== undefined) {
    throw new StartError('GATEHOUSE_URL and GATEHOUSE_TOKEN must be set together.');
  }
  const text = await readIfThere(demoFile(dataDir));
  if (text === undefined) throw new StartError(`npm start has not run on ${dataDir} yet.`);
  const { base_url: base, admin } = JSON.parse(text) as Demo;
  const { username, password } = admin;
  const login = { method: 'POST', body: { username, password } };
  const answer = (await request(`${base}/api/v1/auth/login`, login)) as { token: string };
  return { base, token: answer.token };
}

async function request(
  url: string,
  { method, token, body }: { method: string; token?: string; body?: unknown },
): Promise<unknown> {
  const response = await fetch(url, {
    method,
    redirect: 'error',
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    throw new StartError(`${new URL(url).origin} cannot be reached: is it running?`, { cause: error });
  });
  const text = await response.text();
  if (response.ok) return text === '' ? undefined : JSON.parse(text);
  const { error } = Object(safeParse(text)) as { error?: unknown };
  throw new StartError(
    typeof error === 'string' ? error : `${method} ${url} was answered ${response.status}.`,
  );
}

function safeParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
