import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '@gatehouse/core/ids';
import { CLIENT_SERVICES, isUnder, prefixesOf } from '@gatehouse/core/services';
import { createLocalBroadcast } from '@gatehouse/events/local-broadcast';
import type { EventTransport } from '@gatehouse/events/local-events';
import { run } from '@gatehouse/server/run';
import type { Service } from '@gatehouse/server/service';
import { createFormBrowser, type FormBrowser, type Page } from '@gatehouse/testing/form-browser';
import { createOpenApiCheck } from '@gatehouse/testing/openapi-check';
import { freePort } from '@gatehouse/testing/processes';
import { logger as silent } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import { internalAudience } from '@gatehouse/tokens/scopes';
import { createUsersService } from '@gatehouse/users';
import type { Connection } from 'mongoose';
import type { IdentityConfig } from '../src/config.ts';
import type { FirstApplication } from '../src/core/applications/first-applications.ts';
import { createIdentityService } from '../src/service.ts';
import { openDatabase } from './store-set-up.ts';

type TestScope = { teardown(fn: () => unknown): void };
type Client = { client_id: string; client_secret: string };

export const MACHINE = {
  client_id: 'app_machine',
  client_secret: 'a-secret-of-many-characters-for-the-tests',
};
export const OTHER = { client_id: 'app_other', client_secret: 'another-secret-of-many-characters-for-tests' };
export const WEB = {
  client_id: 'app_web',
  client_secret: 'the-secret-of-the-web-application-in-tests',
  redirect_uri: 'https://web.example.org/callback',
};
export const SPA = { client_id: 'app_spa', redirect_uri: 'https://spa.example.org/callback' };
export const NATIVE = { client_id: 'app_native', redirect_uri: 'http://127.0.0.1:49152/callback' };

export const ALL_SCOPES = [
  'openid',
  'profile',
  'email',
  'read:profile',
  'read:users',
  'write:users',
  'read:data',
  'write:data',
];
export const PASSWORD = 'correct horse battery';

/** An application of the operator's own; by default a trusted machine. */
export function ownApplication(clientId: string, more: Partial<FirstApplication> = {}): FirstApplication {
  return {
    clientId,
    name: clientId,
    type: 'machine',
    owner: null,
    trusted: true,
    redirectUris: [],
    scopes: [],
    ...more,
  };
}

/** A trusted machine, `app_keyed`, that has this API key. */
export function keyedApplication(key: string, scopes: string[]): FirstApplication {
  return ownApplication('app_keyed', { scopes, apiKey: { key, scopes } });
}

type BuildOptions = {
  /** The host name of our pages; browsers have passkeys for names only. */
  host?: 'localhost';
  /** Compares every response of identity's to the requests below with its OpenAPI document. */
  checkResponses?: boolean;
  rateLimit?: 'on' | 'off';
  mongodbUri?: string;
  /** Of identity; silent by default. */
  logger?: typeof silent;
  masterKey?: Buffer;
  /** Takes what was counted. */
  events?: EventTransport;
  config?: Partial<IdentityConfig>;
  applications?: readonly FirstApplication[];
};

/** Identity and users on a port of their own, with databases of their own, some applications and two people. */
export async function build(t: TestScope, options: BuildOptions = {}) {
  const { logger = silent } = options;
  const port = await freePort();
  const base = `http://${options.host ?? '127.0.0.1'}:${port}`;
  const people = {
    admin: { id: newId('usr'), username: 'admin', email: 'admin@example.org' },
    ann: { id: newId('usr'), username: 'ann', email: 'ann@example.org' },
  };
  const owner = people.admin.id;
  const machine = ({ client_id, client_secret: clientSecret }: Client, scopes: string[]) =>
    ownApplication(client_id, { clientSecret, owner, scopes });
  const ofPeople = { owner, trusted: false, scopes: ALL_SCOPES };
  const broadcast = createLocalBroadcast();
  await broadcast.start();
  const links: { to: string; link: string }[] = [];
  const outbox = await mkdtemp(join(tmpdir(), 'gatehouse-outbox-'));
  // A mail may still be on its way into it.
  t.teardown(() => rm(outbox, { recursive: true, force: true, maxRetries: 5 }));
  const secret = randomBytes(32).toString('base64url');
  const config: IdentityConfig = {
    publicUrl: base,
    mongodbUri: options.mongodbUri ?? (await testDatabase(t)),
    usersUrl: base,
    masterKeys: [options.masterKey ?? randomBytes(32)],
    accessTokenAlgorithm: 'ES256',
    lifetimes: { accessToken: 3600, code: 60, refreshToken: 2_592_000, session: 1_209_600 },
    rotateKeysEveryDays: 90,
    signUp: 'on',
    passwordLogin: 'on',
    auditDays: 30,
    rateLimit: options.rateLimit ?? 'off',
    services: CLIENT_SERVICES.map((id) => ({ id, secret })),
    mail: { directory: outbox, onLink: (mail) => links.push(mail) },
    firstApplications: [
      machine(MACHINE, ['read:users', 'write:users']),
      machine(OTHER, ['read:data']),
      ownApplication(WEB.client_id, {
        ...ofPeople,
        clientSecret: WEB.client_secret,
        name: 'Web of Examples',
        type: 'web',
        redirectUris: [WEB.redirect_uri],
      }),
      ownApplication(SPA.client_id, {
        ...ofPeople,
        name: 'Spa',
        type: 'spa',
        redirectUris: [SPA.redirect_uri],
      }),
      ownApplication(NATIVE.client_id, {
        ...ofPeople,
        name: 'Native',
        type: 'native',
        redirectUris: [NATIVE.redirect_uri],
      }),
      ...(options.applications ?? []),
    ],
    ...options.config,
  };
  const identity = createIdentityService(config, logger, {
    broadcast,
    ...(options.events && { events: options.events }),
  });
  const users = createUsersService(
    {
      publicUrl: base,
      mongodbUri: await testDatabase(t),
      identityUrl: base,
      clientSecret: secret,
      hashConcurrency: 2,
      hashMemoryKiB: 64,
      rateLimit: 'off',
      breachedPasswordsUrl: options.config?.breachedPasswordsUrl,
      firstUsers: [
        { ...people.admin, password: PASSWORD, role: 'admin' },
        { ...people.ann, password: PASSWORD },
      ],
    },
    logger,
    { broadcast },
  );
  async function start(services: Service[], port: number): Promise<void> {
    const running = await run(services, {
      port,
      host: '127.0.0.1',
      logger,
      trustedProxies: [],
      requireHttps: false,
      drainSeconds: 1,
    });
    t.teardown(() => running.stop());
    await running.started;
  }
  await start([identity, users], port);

  const problemsOf =
    options.checkResponses === true
      ? createOpenApiCheck((await (await fetch(`${base}/openapi/identity.json`)).json()) as object)
      : () => [];

  async function send(method: string, path: string, headers: Record<string, string>, sent?: BodyOf) {
    const response = await fetch(base + path, {
      method,
      headers,
      ...(sent === undefined ? {} : { body: sent }),
    });
    const text = await response.text();
    const reply = {
      status: response.status,
      headers: response.headers,
      body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>,
    };
    const isOfIdentity = prefixesOf('identity').some((prefix) => isUnder(path.split('?')[0] ?? '', prefix));
    const body = text === '' ? undefined : reply.body;
    const problems =
      isOfIdentity && !isUnder(path, '/internal') ? problemsOf({ method, path, ...reply, body }) : [];
    if (problems.length > 0) throw new Error(`${problems.join('; ')}\n${text}`);
    return reply;
  }

  const post = (path: string, body: BodyOf, headers: Record<string, string>) =>
    send('POST', path, headers, body);

  /** A request with a bearer token. */
  function call(method: string, path: string, token?: string, body?: unknown) {
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    return send(method, path, headers, body === undefined ? undefined : JSON.stringify(body));
  }

  /** A token request as a form to /oauth2/token. */
  function form(
    body: Record<string, string> | string,
    headers: Record<string, string> = {},
    path = '/oauth2/token',
  ) {
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    return post(path, new URLSearchParams(body).toString(), { ...type, ...headers });
  }

  async function clientToken(client: Client, more: Record<string, string> = {}): Promise<string> {
    const { status, body } = await form({ grant_type: 'client_credentials', ...client, ...more });
    if (status !== 200) throw new Error(`the token request answered ${status} ${JSON.stringify(body)}`);
    return String(body.access_token);
  }

  const logIn = (username = 'ann', password = PASSWORD) =>
    call('POST', '/api/v1/auth/login', undefined, { username, password });

  async function login(username?: string, password?: string): Promise<string> {
    const { status, body } = await logIn(username, password);
    if (status !== 200) throw new Error(`the login answered ${status} ${JSON.stringify(body)}`);
    return String(body.token);
  }

  let database: Promise<Connection> | undefined;
  return {
    base,
    config,
    people,
    /** A direct look into identity's database, for what only time would do. */
    database() {
      database ??= openDatabase(t, config.mongodbUri);
      return database;
    },
    /** Starts another replica of identity and returns its origin; with the URL of NATS, one that knows of others. */
    async replica(changes: Partial<IdentityConfig> = {}): Promise<string> {
      const port = await freePort();
      const dependencies = changes.natsUrl === undefined ? { broadcast } : {};
      await start([createIdentityService({ ...config, ...changes }, logger, dependencies)], port);
      return `http://127.0.0.1:${port}`;
    },
    /** Of the mails that were sent. */
    links,
    outbox,
    /** Of every service's client. */
    serviceSecret: secret,
    /** A token request as JSON to /oauth/token. */
    json: (body: unknown, headers: Record<string, string> = {}) =>
      post('/oauth/token', typeof body === 'string' ? body : JSON.stringify(body), {
        'content-type': 'application/json',
        ...headers,
      }),
    form,
    post,
    call,
    /** The response to a login at the API. */
    logIn,
    /** The token of a login at the API. */
    login,
    /** The token of a machine; by default, of the one that may do everything with accounts. */
    machineToken: (client: Client = MACHINE) => clientToken(client),
    /** A token by which one of our own services calls identity. */
    serviceToken: (client_id: string) =>
      clientToken(
        { client_id, client_secret: secret },
        { resource: internalAudience(base, 'identity'), scope: 'internal' },
      ),
    /** Makes an application at the API. */
    async createApplication(token: string, draft: object): Promise<Client> {
      const { status, body } = await call('POST', '/api/v1/applications', token, draft);
      if (status !== 201) throw new Error(`the application was not made: ${JSON.stringify(body)}`);
      return { client_id: String(body.client_id), client_secret: String(body.client_secret) };
    },
    /** Makes an account at the API, and returns its id. */
    async createPerson(username: string, role = 'user'): Promise<string> {
      const draft = { username, email: `${username}@example.org`, password: PASSWORD, role };
      const { status, body } = await call('POST', '/kb/api/v1/users', await login('admin'), draft);
      if (status !== 201) throw new Error(`the account was not made: ${JSON.stringify(body)}`);
      return String(body.id);
    },
    browser: () => createFormBrowser(base),
  };
}

type BodyOf = string | Uint8Array<ArrayBuffer>;
export type Built = Awaited<ReturnType<typeof build>>;

/** An authorization request's address; `more` replaces and adds parameters. */
export function authorizeUrl(more: Record<string, string> = {}): string {
  const parameters = {
    client_id: WEB.client_id,
    response_type: 'code',
    redirect_uri: WEB.redirect_uri,
    scope: ALL_SCOPES.join(' '),
    state: 'some-state',
    ...more,
  };
  return `/oauth2/authorize?${new URLSearchParams(parameters)}`;
}

/** Goes through whatever pages come until the application is reached: signs in, and allows. */
export async function signInAndAllow(
  browser: FormBrowser,
  url: string,
  username = 'ann',
  password = PASSWORD,
): Promise<Page> {
  let page = await browser.get(url);
  if (page.url.pathname.startsWith('/sign-in/')) page = await browser.submit(page, { username, password });
  if (page.url.pathname.startsWith('/consent/')) page = await browser.submit(page, { decision: 'allow' });
  return page;
}

/** A code for the web application, or what `more` says. */
export async function codeFor(
  browser: FormBrowser,
  more: Record<string, string> = {},
  username = 'ann',
  password = PASSWORD,
): Promise<string> {
  const page = await signInAndAllow(browser, authorizeUrl(more), username, password);
  const code = page.url.searchParams.get('code');
  if (code === null) throw new Error(`no code: ${page.status} ${page.url}\n${page.html}`);
  return code;
}
