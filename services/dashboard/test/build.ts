import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCommerceService } from '@gatehouse/commerce';
import { newId } from '@gatehouse/core/ids';
import { CLIENT_SERVICES, DASHBOARD, SERVICE_NAMES, type ServiceName } from '@gatehouse/core/services';
import { createDashboardService } from '@gatehouse/dashboard';
import { createLocalBroadcast } from '@gatehouse/events/local-broadcast';
import { createLocalEvents } from '@gatehouse/events/local-events';
import { createIdentityService } from '@gatehouse/identity';
import { createItemsService } from '@gatehouse/items';
import { createNotificationsService } from '@gatehouse/notifications';
import { run } from '@gatehouse/server/run';
import type { Service } from '@gatehouse/server/service';
import {
  createFormBrowser,
  type FormBrowser,
  type Page,
  unescapeHtml,
} from '@gatehouse/testing/form-browser';
import { jsonRequest, loginToken } from '@gatehouse/testing/json-request';
import { freePort } from '@gatehouse/testing/processes';
import type { createServiceAccountIssuer } from '@gatehouse/testing/service-account-issuer';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import { createUsersService } from '@gatehouse/users';
import type { DashboardConfig } from '../src/config.ts';

type TestScope = { teardown(fn: () => unknown): void };

export const PASSWORD = 'correct horse battery';

/**
 * The dashboard with everything that it calls, on a port of their own, and three people: admin, editor and ann.
 * - `limited`: identity limits requests by address, and trusts this machine as a proxy.
 * - `unknownClients`: clients register themselves, or describe themselves at addresses of this machine, and may ask for these scopes.
 * - `localProviders`: identity providers may have addresses of this machine.
 * - `notifications`: the notifications service runs, too.
 * - `cluster`: the dashboard authenticates at identity with the tokens of its service account there.
 */
export async function build(
  t: TestScope,
  changes: Partial<DashboardConfig> & {
    limited?: boolean;
    unknownClients?: readonly string[];
    localProviders?: boolean;
    notifications?: boolean;
    refundLimit?: number;
    cluster?: Awaited<ReturnType<typeof createServiceAccountIssuer>>;
  } = {},
) {
  const {
    limited = false,
    unknownClients,
    localProviders = false,
    notifications = false,
    refundLimit,
    cluster,
    ...configured
  } = changes;
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const person = (username: string) => ({ id: newId('usr'), username, email: `${username}@example.org` });
  const people = { admin: person('admin'), editor: person('editor'), ann: person('ann') };
  const broadcast = createLocalBroadcast();
  await broadcast.start();
  const links: { to: string; link: string }[] = [];
  const outbox = await mkdtemp(join(tmpdir(), 'gatehouse-outbox-'));
  // A mail may still be on its way into it.
  t.teardown(() => rm(outbox, { recursive: true, force: true, maxRetries: 5 }));
  const secret = randomBytes(32).toString('base64url');
  const events = notifications ? createLocalEvents({ logger }) : undefined;
  const transport = { broadcast, ...(events && { events }) };
  const identity = createIdentityService(
    {
      publicUrl: base,
      mongodbUri: await testDatabase(t),
      usersUrl: base,
      masterKeys: [randomBytes(32)],
      accessTokenAlgorithm: 'ES256',
      lifetimes: { accessToken: 3600, code: 60, refreshToken: 2_592_000, session: 1_209_600 },
      rotateKeysEveryDays: 90,
      signUp: 'on',
      passwordLogin: 'on',
      auditDays: 30,
      rateLimit: limited ? 'on' : 'off',
      services: CLIENT_SERVICES.map((id) =>
        id === DASHBOARD && cluster
          ? { id, secret: newId('key'), subject: cluster.subjectOf(id) }
          : { id, secret },
      ),
      clientAssertionIssuer: cluster?.issuer,
      clientAssertionJwks: cluster?.jwks,
      mail: { directory: outbox, onLink: (mail) => links.push(mail) },
      firstApplications: [],
      clientMetadata: unknownClients ? 'on' : 'off',
      openRegistration: unknownClients ? 'on' : 'off',
      clientMetadataScopes: unknownClients ?? [],
      clientMetadataNetworks: ['127.0.0.0/8'],
      ...(localProviders && { providerNetworks: ['127.0.0.0/8'] }),
    },
    logger,
    transport,
  );
  const common = async () => ({
    publicUrl: base,
    mongodbUri: await testDatabase(t),
    identityUrl: base,
    clientSecret: secret,
    rateLimit: 'off' as const,
  });
  const users = createUsersService(
    {
      ...(await common()),
      hashConcurrency: 2,
      hashMemoryKiB: 64,
      firstUsers: [
        { ...people.admin, password: PASSWORD, role: 'admin' },
        { ...people.editor, password: PASSWORD, role: 'editor' },
        { ...people.ann, password: PASSWORD },
      ],
    },
    logger,
    transport,
  );
  const items = createItemsService(await common(), logger, transport);
  const commerce = createCommerceService(
    { ...(await common()), usersUrl: base, refundLimit },
    logger,
    transport,
  );
  const services = [identity, users, items, commerce];
  if (notifications) {
    const urls = { usersUrl: base, commerceUrl: base, notificationsUrl: base };
    const sending = { providers: {}, slots: 0 };
    const webhooks = { masterKeys: [randomBytes(32)] as const, networks: [], slots: 0 };
    services.push(
      createNotificationsService({ ...(await common()), ...urls, sending, webhooks }, logger, transport),
    );
  }
  const config: DashboardConfig = {
    ...(await common()),
    serviceUrls: Object.fromEntries(SERVICE_NAMES.map((name) => [name, base])) as Record<ServiceName, string>,
    masterKeys: [randomBytes(32)],
    idleSeconds: 3600,
    sessionSeconds: 36_000,
    signUp: 'on',
    ...configured,
  };

  async function start(services: Service[], at: number): Promise<void> {
    const running = await run(services, {
      port: at,
      host: '127.0.0.1',
      logger,
      trustedProxies: limited ? ['127.0.0.1'] : [],
      requireHttps: false,
      drainSeconds: 1,
    });
    t.teardown(() => running.stop());
    await running.started;
  }
  await start([...services, createDashboardService(config, logger)], port);

  const logins = new Map<string, string>();
  async function tokenOf(username: string, again = false): Promise<string> {
    const known = logins.get(username);
    if (known !== undefined && !again) return known;
    const token = await loginToken(base, { username, password: PASSWORD });
    logins.set(username, token);
    return token;
  }

  return {
    base,
    config,
    people,
    /** Those between the services; undefined without the notifications service. */
    events,
    /** Of the mails that identity has sent. */
    links,
    browser: (headers: Record<string, string> = {}) => createFormBrowser(base, headers),
    /** A browser in which somebody is signed in to the dashboard, and its first page. */
    async signedIn(
      username: string,
      headers: Record<string, string> = {},
    ): Promise<{ browser: FormBrowser; page: Page }> {
      const browser = createFormBrowser(base, headers);
      const page = await browser.submit(await browser.get('/dashboard'), { username, password: PASSWORD });
      return { browser, page };
    },
    /** Another process of the dashboard; returns its origin. */
    async replica(different: Partial<DashboardConfig> = {}): Promise<string> {
      const other = await freePort();
      await start([createDashboardService({ ...config, ...different }, logger)], other);
      return `http://127.0.0.1:${other}`;
    },
    /** A request to the API as somebody, as it is. */
    async send(username: string, path: string, init: RequestInit): Promise<Response> {
      const ask = (token: string) =>
        fetch(base + path, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } });
      const response = await ask(await tokenOf(username));
      return response.status === 401 ? ask(await tokenOf(username, true)) : response;
    },
    /** A request to the API as somebody. */
    async call<T = Record<string, unknown>>(
      method: string,
      path: string,
      username = 'admin',
      body?: unknown,
    ) {
      const ask = (token: string) => jsonRequest<T>(method, base + path, { token, body });
      const response = await ask(await tokenOf(username));
      // A token ends with a change of the account.
      return response.status === 401 ? ask(await tokenOf(username, true)) : response;
    },
  };
}

export type Built = Awaited<ReturnType<typeof build>>;

/** The heading of a page. */
export const heading = ({ html }: Page) => /<h1>(.*?)<\/h1>/s.exec(html)?.[1];

/** The code of the element with this id, as it was before it was escaped. */
export function codeOf({ html }: Page, id: string): string | undefined {
  const escaped = new RegExp(`id="${id}"[^>]*>(?:<code>)?([^<]*)<`).exec(html)?.[1];
  return escaped && unescapeHtml(escaped);
}

/** What is read on a page. */
export const textOf = ({ html }: Page) => html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
