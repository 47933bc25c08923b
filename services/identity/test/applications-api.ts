import { once } from 'node:events';
import { createConcurrencyLimit } from '@gatehouse/api/http/concurrency-limit';
import { v2Body } from '@gatehouse/api/http/error-bodies';
import { createRateLimiter } from '@gatehouse/api/http/rate-limit';
import { createLocalBroadcast } from '@gatehouse/events/local-broadcast';
import type { Caller } from '@gatehouse/tokens/caller';
import { MANAGE_APPS, type Role } from '@gatehouse/tokens/scopes';
import Koa, { type Context } from 'koa';
import { LRUCache } from 'lru-cache';
import type { Test } from 'tap';
import type { Account } from '../src/core/accounts/account.ts';
import type { AccountMails } from '../src/core/accounts/account-mails.ts';
import type { ApplicationStore } from '../src/core/applications/application.ts';
import { createApplicationWrites } from '../src/core/applications/application-writes.ts';
import { createApplications } from '../src/core/applications/applications.ts';
import {
  CREDENTIALS_FOR_OTHERS,
  limitCredentialsBy,
} from '../src/core/applications/new-credential-notice.ts';
import { createApplicationStore } from '../src/core/applications/store/application-store.ts';
import { createMemberStore } from '../src/core/applications/store/member-store.ts';
import { createAudit } from '../src/core/audit/audit.ts';
import { createAuditStore } from '../src/core/audit/audit-store.ts';
import { createAuthority } from '../src/core/authority/authority.ts';
import { createDerivedTokenStore } from '../src/core/revocations/derived-token-store.ts';
import { createResourceTokenStore } from '../src/core/revocations/resource-token-store.ts';
import { createRevocationStore } from '../src/core/revocations/revocation-store.ts';
import { createRevocations, type RevocationEntry } from '../src/core/revocations/revocations.ts';
import type { ApiKeyStore } from '../src/features/api-keys/api-key.ts';
import { apiKeyRoutes } from '../src/features/api-keys/api-key-routes.ts';
import { createApiKeyStore } from '../src/features/api-keys/api-key-store.ts';
import { createApiKeys } from '../src/features/api-keys/api-keys.ts';
import { applicationRoutes } from '../src/features/applications/application-routes.ts';
import { secretRoutes } from '../src/features/client-secrets/secret-routes.ts';
import { transferRoutes } from '../src/features/transfers/transfer-routes.ts';
import { createTransferStore } from '../src/features/transfers/transfer-store.ts';
import { createTransfers, OFFERED, RECIPIENTS } from '../src/features/transfers/transfers.ts';
import { apiErrors } from '../src/http/api-errors.ts';
import { createToServiceError } from '../src/http/service-error.ts';
import { withStores } from './store-set-up.ts';

/** What no test here is about. */
const NOBODY = {
  ...{ email: null, email_verified: false, first_name: null, last_name: null, phone: null, picture: null },
  ...{ locale: null, zoneinfo: null },
  ...{
    created_at: '',
    updated_at: '',
    sign_in_epoch: 0,
    recovery_epoch: 0,
    authority_epoch: 0,
    admin_epoch: 0,
    earlier_email: null,
    given_back_at: null,
  },
};

type Body = Record<string, unknown> & { data: Record<string, unknown>[] };

export const WEB = {
  name: 'A web app',
  type: 'web',
  redirect_uris: ['https://app.example.org/cb'],
  scopes: ['openid', 'read:data'],
};
export const MACHINE = { name: 'A machine', type: 'machine', scopes: ['read:users', 'read:data'] };

/** The applications API over HTTP with a database of its own, and people who may be changed. */
export async function buildApi(t: Test) {
  const stores = await withStores(t, (connection) => ({
    applicationStore: createApplicationStore(connection, new LRUCache({ max: 10 })),
    keyStore: createApiKeyStore(connection),
    memberStore: createMemberStore(connection),
    transferStore: createTransferStore(connection),
    auditStore: createAuditStore(connection),
    revocationStore: createRevocationStore(connection),
    resourceTokens: createResourceTokenStore(connection),
    derivedTokens: createDerivedTokenStore(connection),
  }));
  const { auditStore, logger } = stores;
  const keys: ApiKeyStore = {
    ...stores.keyStore,
    async insert(key) {
      await interrupt(beforeWrite);
      return stores.keyStore.insert(key);
    },
  };
  /** Runs once before the next application is written, or after the next caller has been identified. */
  const beforeWrite: { next?: () => unknown } = {};
  const beforeBody: { next?: () => unknown } = {};
  async function interrupt(at: { next?: () => unknown }): Promise<void> {
    const { next } = at;
    delete at.next;
    await next?.();
  }
  const store: ApplicationStore = {
    ...stores.applicationStore,
    async insert(application) {
      await interrupt(beforeWrite);
      return stores.applicationStore.insert(application);
    },
    async change(...change) {
      await interrupt(beforeWrite);
      return stores.applicationStore.change(...change);
    },
    async addSecret(...secret) {
      await interrupt(beforeWrite);
      return stores.applicationStore.addSecret(...secret);
    },
  };
  const people = new Map<string, { role: Role; status: 'active' | 'inactive'; epoch: number }>([
    ['usr_ann', { role: 'user', status: 'active', epoch: 1 }],
    ['usr_ben', { role: 'user', status: 'active', epoch: 1 }],
    ['usr_root', { role: 'admin', status: 'active', epoch: 1 }],
  ]);
  const real = createRevocations({
    store: stores.revocationStore,
    resourceTokens: stores.resourceTokens,
    derivedTokens: stores.derivedTokens,
    broadcast: createLocalBroadcast(),
    tokenLifetime: 3600,
    logger,
  });
  /** How many writes succeed until one fails. */
  await stores.revocationStore.issuingUntil(new Date());
  const fault = { after: Number.POSITIVE_INFINITY };
  const revocations = {
    async write(entries: readonly RevocationEntry[]) {
      fault.after -= 1;
      if (fault.after < 0) {
        fault.after = Number.POSITIVE_INFINITY;
        throw new Error('the process died here');
      }
      await real.write(entries);
    },
  };
  const audit = createAudit({ store: auditStore, key: Buffer.alloc(32), keepDays: 1, logger });
  const accounts = {
    async find(id: string): Promise<Account | undefined> {
      const person = people.get(id);
      return person && { ...NOBODY, ...person, id, username: id.slice('usr_'.length), name: id };
    },
  };
  const authority = createAuthority({
    findAccount: accounts.find,
    readAccount: accounts.find,
    members: stores.memberStore,
    noteGiver: stores.applicationStore.noteGiver,
  });
  const endedGrants: string[] = [];
  const endGrants = async (clientId: string) => void endedGrants.push(clientId);
  const notifyCredential = () => {};
  const limitCredentials = limitCredentialsBy(createRateLimiter(CREDENTIALS_FOR_OTHERS));
  const notified: string[] = [];
  const mails: Pick<AccountMails, 'notify'> = {
    notify: async (userId, { kind }) => void notified.push(`${kind} ${userId}`),
  };
  const dependencies = {
    members: stores.memberStore,
    authority,
    mails,
    issuer: 'https://id.example.org',
    ...{
      store,
      find: store.findById,
      accounts,
      revocations,
      audit,
      notifyCredential,
      limitCredentials,
      endGrants,
      logger,
    },
  };
  const apiKeys = createApiKeys({ ...dependencies, findResource: async () => undefined, keys });
  const writes = createApplicationWrites({ ...dependencies, keys: [apiKeys] });
  const applications = createApplications({
    ...dependencies,
    keys: [apiKeys],
    writes,
    findScopes: async () => undefined,
  });
  const transfers = createTransfers({
    ...dependencies,
    transfers: stores.transferStore,
    accounts: { ...accounts, lookUp: (login) => accounts.find(`usr_${login}`) },
    writes,
    attempts: createRateLimiter(RECIPIENTS),
    offered: createRateLimiter(OFFERED),
  });

  async function authenticate(ctx: Context): Promise<Caller> {
    const [id = '', ...flags] = ctx.get('authorization').split(' ');
    const role = people.get(id)?.role;
    const clientId = 'gatehouse-login';
    await interrupt(beforeBody);
    return {
      subject: flags.includes('machine') ? clientId : id,
      clientId,
      scopes: new Set(flags.includes('without') ? ['read:data'] : [MANAGE_APPS]),
      person: role === undefined ? undefined : { id, role },
      expiresAt: 0,
      issuedAt: 0,
      tokenId: 'jti',
      grantId: undefined,
      keyId: flags.includes('key') ? 'key' : undefined,
      actor: undefined,
      keyThumbprint: undefined,
      profiles: {},
      epoch: { client: 0, subject: people.get(id)?.epoch ?? 0 },
      authTime: undefined,
    };
  }

  const app = new Koa();
  app.use(
    apiErrors(
      createToServiceError(logger, () => undefined),
      v2Body,
    ),
  );
  const apis = [
    applicationRoutes({ applications, authenticate, concurrency: createConcurrencyLimit() }),
    secretRoutes({ applications, authenticate }),
    apiKeyRoutes({ keys: apiKeys, authenticate }),
    ...transferRoutes({ transfers, authenticate }),
  ];
  for (const { router } of apis) app.use(router.routes());
  const server = app.listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as { port: number };

  const call = (method: string, path: string, body?: unknown, who?: string) =>
    callAt(method, `/applications${path}`, body, who);
  async function callAt(method: string, path: string, body?: unknown, who = 'usr_ann') {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
      method,
      headers: { authorization: who, 'content-type': 'application/json', connection: 'close' },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text === '' ? {} : JSON.parse(text)) as Body,
    };
  }
  /** An application, made over HTTP. */
  async function make(body: object = MACHINE, who = 'usr_ann'): Promise<{ id: string; secret: string }> {
    const made = await call('POST', '', body, who);
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    return { id: String(made.body.client_id), secret: String(made.body.client_secret) };
  }
  /** What has been revoked so far, of the client or key with this id. */
  const revoked = async (id: string) =>
    (await real.list(undefined)).revocations.filter((revocation) => revocation.id === id);

  return {
    ...stores,
    people,
    fault,
    beforeWrite,
    beforeBody,
    endedGrants,
    notified,
    applications: {
      ...applications,
      checkSecret: async (...secret: Parameters<typeof applications.checkSecret>) =>
        (await applications.checkSecret(...secret)) !== undefined,
    },
    apiKeys,
    auditStore,
    call,
    callAt,
    make,
    revoked,
  };
}
