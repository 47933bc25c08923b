// `npm run bench:tokens [-- ROUNDS [NAME]]`: what identity costs at the token endpoint, at introspection and at userinfo, beside
// oidc-provider alone: in memory for client_credentials, and on the same database for the others. CPU for each request is the
// figure that a busy machine does not bend. With CPU_PROF=FOLDER identity writes a profile there.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Call, createLoadComparison, type Load, type Server } from '@gatehouse/testing/compare-loads';
import { createFormBrowser, type Page } from '@gatehouse/testing/form-browser';
import { freePort, until } from '@gatehouse/testing/processes';
import { startTestMongo } from '@gatehouse/testing/test-mongo';
import { ADMIN, MACHINE, startCluster } from '../test/cluster.ts';

const rounds = Number(process.argv[2] ?? 15);
/** Of the comparisons, those whose name contains it. */
const only = process.argv[3] ?? '';
const CONCURRENCY = 16;
/** Of one round at most. */
const CODES = 600;
/** With a refresh token each. */
const PEOPLE = 100;
const REDIRECT_URI = 'https://app.example.org/callback';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const BARE = new URL('../../../services/identity/bench/bare-provider.ts', import.meta.url).pathname;

type Client = { client_id: string; client_secret: string };
type Tokens = { access_token: string; refresh_token: string };

const cleanups: (() => unknown)[] = [];
const scope = { teardown: (action: () => unknown) => void cleanups.push(action) };
const comparison = createLoadComparison({ rounds, concurrency: CONCURRENCY });
cleanups.push(() => comparison.close());

/** A form with the client's credentials by HTTP Basic (RFC 6749 §2.3.1). */
function form(
  path: string,
  { client_id: id, client_secret: secret }: Client,
  fields: Record<string, string>,
): Call {
  const authorization = `Basic ${Buffer.from(`${encodeURIComponent(id)}:${secret}`).toString('base64')}`;
  const body = new URLSearchParams(fields).toString();
  return { method: 'POST', path, headers: { ...FORM, authorization }, body, status: 200 };
}

async function startBare(client: Client, mongoUri: string): Promise<Server> {
  const port = await freePort();
  const env = {
    PORT: `${port}`,
    MONGODB_URI: mongoUri,
    CLIENT_ID: client.client_id,
    CLIENT_SECRET: client.client_secret,
  };
  const child = spawn(process.execPath, [BARE], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  cleanups.push(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  await until(
    () =>
      fetch(`http://127.0.0.1:${port}/jwks`).then(
        ({ ok }) => ok,
        () => false,
      ),
    30_000,
  );
  return { pid: child.pid ?? 0, port };
}

async function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Record<string, string>;
}

/** An application that people sign in to, and how its codes are issued. */
async function webApplication(base: string): Promise<{ client: Client; issueCode(): Promise<string> }> {
  const { token } = await post(`${base}/api/v1/auth/login`, {
    username: ADMIN.username,
    password: ADMIN.password,
  });
  const created = await post(
    `${base}/api/v1/applications`,
    {
      name: 'Bench',
      type: 'web',
      redirect_uris: [REDIRECT_URI],
      scopes: ['openid', 'profile', 'read:users'],
    },
    { authorization: `Bearer ${token}` },
  );
  const client = { client_id: String(created.client_id), client_secret: String(created.client_secret) };
  const browser = createFormBrowser(base);
  const request = {
    client_id: client.client_id,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope: 'openid profile read:users',
  };
  const authorize = () =>
    browser.get(`/oauth2/authorize?${new URLSearchParams({ ...request, state: 'bench' })}`);
  const signIn = await authorize();
  let page: Page = await browser.submit(signIn, { username: ADMIN.username, password: ADMIN.password });
  if (page.status !== 0) page = await browser.submit(page, { decision: 'allow' });
  return {
    client,
    async issueCode() {
      const code = (await authorize()).url.searchParams.get('code');
      if (code === null) throw new Error('there is no code');
      return code;
    },
  };
}

/** Exchanges codes that are issued before each round. */
function exchanges(
  server: Server,
  path: string,
  client: Client,
  issue: (n: number) => Promise<string[]>,
): Load {
  let codes: string[] = [];
  return {
    server,
    prepare: async () => {
      codes = await issue(CODES);
    },
    next() {
      const code = codes.pop();
      return code === undefined
        ? undefined
        : form(path, client, { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI });
    },
  };
}

try {
  const env: Record<string, string> = {};
  if (process.env.CPU_PROF) env.NODE_OPTIONS = `--cpu-prof --cpu-prof-dir=${process.env.CPU_PROF}`;
  const cluster = await startCluster(scope, env, [], {
    onStart: (name, url) => {
      if (name === 'identity') env.PUBLIC_URL = url;
    },
  });
  const { base } = cluster.identity;
  const identity = { pid: cluster.identity.process.child.pid ?? 0, port: Number(new URL(base).port) };
  const { client, issueCode } = await webApplication(base);
  const mongo = await startTestMongo();
  cleanups.push(() => mongo.stop());
  const inMemory = await startBare(client, '');
  const stored = await startBare(client, mongo.uri);

  const exchange = {
    bare: exchanges(
      stored,
      '/token',
      client,
      async (n) => (await (await fetch(`http://127.0.0.1:${stored.port}/codes?n=${n}`)).json()) as string[],
    ),
    own: exchanges(identity, '/oauth2/token', client, async (n) => {
      const codes: string[] = [];
      for (let i = 0; i < n; i += CONCURRENCY) {
        codes.push(...(await Promise.all(Array.from({ length: CONCURRENCY }, issueCode))));
      }
      return codes;
    }),
  };
  /** The responses to exchanges. */
  async function tokensOf({ server, prepare, next }: Load): Promise<() => Tokens> {
    await prepare?.();
    const calls = Array.from({ length: PEOPLE }, next).filter((call) => call !== undefined);
    const bodies = await Promise.all(calls.map((call) => comparison.send(server, call)));
    const tokens = bodies.map((body) => JSON.parse(body) as Tokens);
    return () => tokens[Math.floor(Math.random() * tokens.length)] as Tokens;
  }
  const bare = await tokensOf(exchange.bare);
  const own = await tokensOf(exchange.own);
  const opaque = await (await fetch(`http://127.0.0.1:${stored.port}/access-token`)).text();
  const grant = { grant_type: 'client_credentials' };
  const refresh = (token: string) => ({ grant_type: 'refresh_token', refresh_token: token });
  const userInfo = (path: string, token: string): Call => ({
    ...{ method: 'GET', path, headers: { authorization: `Bearer ${token}` }, status: 200 },
  });
  const comparisons: Record<string, [bare: Load, own: Load]> = {
    client_credentials: [
      { server: inMemory, next: () => form('/token', client, grant) },
      { server: identity, next: () => form('/oauth2/token', MACHINE as Client, grant) },
    ],
    'code exchange': [exchange.bare, exchange.own],
    refresh: [
      { server: stored, next: () => form('/token', client, refresh(bare().refresh_token)) },
      { server: identity, next: () => form('/oauth2/token', client, refresh(own().refresh_token)) },
    ],
    introspection: [
      { server: stored, next: () => form('/token/introspection', client, { token: bare().refresh_token }) },
      { server: identity, next: () => form('/oauth2/introspect', client, { token: own().refresh_token }) },
    ],
    userinfo: [
      { server: stored, next: () => userInfo('/me', opaque) },
      { server: identity, next: () => userInfo('/userinfo', own().access_token) },
    ],
  };
  comparison.printTitle(`${rounds} rounds`);
  for (const [name, [bareLoad, ownLoad]] of Object.entries(comparisons)) {
    if (name.includes(only)) await comparison.compare({ [`bare ${name}`]: bareLoad, [name]: ownLoad });
  }
  // A profile is written when it stops.
  await cluster.identity.stop();
} finally {
  for (const clean of cleanups.reverse()) await clean();
}
