import { createOutbound } from '@gatehouse/outbound/outbound';
import { readOrExit } from '@gatehouse/server/process';
import { readIfThere } from './data-dir.ts';
import { type Demo, demoFile } from './demo.ts';
import { RefusedError, runJobsCommand } from './jobs-command.ts';
import { readJobsSettings } from './settings.ts';
import { StartError } from './start-error.ts';

// `npm run jobs`: shows and steers the queues of a deployment. Of npm start as its admin, while it runs; of another with
// GATEHOUSE_URL and GATEHOUSE_TOKEN, an access token or an API key of an admin.
const settings = readOrExit(readJobsSettings);
const outbound = createOutbound({ to: 'configured', timeoutMs: 60_000, maxBytes: 32 * 1024 * 1024 });
let opened: Promise<Deployment> | undefined;
try {
  const output = await runJobsCommand(process.argv.slice(2), async (method, path, body) => {
    opened ??= deployment();
    const { base, token } = await opened;
    return request(base + path, { method, token, body });
  });
  process.stdout.write(output);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
} finally {
  // Whatever kept it from signing in or out has been said, or does no harm: the token expires.
  await opened?.then(({ close }) => close?.()).catch(() => {});
}

type Deployment = {
  base: string;
  token: string;
  /** Ends the login that the token is of. */
  close?: () => Promise<unknown>;
};

async function deployment(): Promise<Deployment> {
  const { url, token, dataDir } = settings;
  if (url !== undefined && token !== undefined) return { base: url, token };
  if (url !== undefined || token !== undefined) {
    throw new StartError('GATEHOUSE_URL and GATEHOUSE_TOKEN must be set together.');
  }
  const file = demoFile(dataDir);
  const text = await readIfThere(file);
  if (text === undefined) throw new StartError(`npm start has not run on ${dataDir} yet.`);
  const { base_url: base, admin } = JSON.parse(text) as Demo;
  const login = await signIn(base, admin).catch((error: unknown) => {
    if (!(error instanceof RefusedError) || error.status !== 401) throw error;
    throw new StartError(
      `The password of ${admin.username} in ${file} is no longer right. Set GATEHOUSE_URL to ${base}, ` +
        'and GATEHOUSE_TOKEN to a token or an API key of an admin.',
      { cause: error },
    );
  });
  return {
    base,
    token: login.token,
    close: () => request(`${base}/api/v1/auth/logout`, { method: 'POST', token: login.token }),
  };
}

async function signIn(base: string, { username, password }: Demo['admin']) {
  const body = { username, password };
  return (await request(`${base}/api/v1/auth/login`, { method: 'POST', body })) as { token: string };
}

async function request(
  url: string,
  { method, token, body }: { method: string; token?: string; body?: unknown },
): Promise<unknown> {
  const response = await outbound
    .fetch(url, {
      method,
      headers: {
        // The list of sign-ins and the audit log show it.
        'user-agent': 'gatehouse-jobs',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    .catch((error: unknown) => {
      throw new StartError(`${new URL(url).origin} cannot be reached: is it running?`, { cause: error });
    });
  const text = await response.text();
  if (response.ok) return text === '' ? undefined : JSON.parse(text);
  const { error } = Object(safeParse(text)) as { error?: unknown };
  const responded = `${method} ${url} was answered ${response.status}.`;
  throw new RefusedError(typeof error === 'string' ? error : responded, response.status);
}

function safeParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
