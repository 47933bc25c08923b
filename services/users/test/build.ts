import type { EventTransport } from '@gatehouse/events/local-events';
import { runServices } from '@gatehouse/testing/run-services';
import { createTestIssuer, type TestIssuer } from '@gatehouse/testing/test-issuer';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import { createCheckedCall } from '@gatehouse/testing/test-service';
import { INTERNAL_SCOPE, internalAudience } from '@gatehouse/tokens/scopes';
import type { UsersConfig } from '../src/config.ts';
import { createUsersService } from '../src/service.ts';
import { createIdentityStandIn } from './identity-stand-in.ts';

type TestScope = { teardown(fn: () => unknown): void };

/** An account as the internal routes show it. */
type Account = {
  id: string;
  username: string;
  email: string;
  email_verified: boolean;
  name: string;
  first_name: string | null;
  last_name: string | null;
  phone: string | null;
  picture: string | null;
  role: string;
  status: string;
  epoch: number;
  sign_in_epoch: number;
  created_at: string;
  updated_at: string;
};

/** All that can be answered, in one: each test knows which of it is there, and asserts it. */
export type Body = Account & {
  account: Account | null;
  accounts: [Account, ...Account[]];
  createdAt: string;
  updatedAt: string;
  message: string;
  profile: { first_name: string | null; last_name: string | null };
  data: Body[];
  links: { next?: string; prev?: string };
  pagination: { limit: number; offset: number; total: number };
  meta: {
    total: number;
    totalItems: number;
    itemsPerPage: number;
    currentPage: number;
    hasNextPage: boolean;
    hasPrevPage: boolean;
  };
  error: { code: string; message: string; details?: { field: string; message: string }[] };
};

export type JsonResponse = { status: number; headers: Headers; body: Body };

export const ALL = 'read:users write:users';
export const PASSWORD = 'correct horse';

/**
 * The users service on a port of its own, with a database, an issuer and an identity of its own. Every response that
 * `call` gets is compared with the OpenAPI document that the service serves.
 */
export async function build(
  t: TestScope,
  options: Partial<UsersConfig> & { identityIsAway?: boolean; events?: EventTransport } = {},
) {
  const { identityIsAway = false, events, ...config } = options;
  const issuer: TestIssuer = await createTestIssuer(t);
  const identity = await createIdentityStandIn(t, issuer);
  if (identityIsAway) identity.leave('closed');
  const mongodbUri = await testDatabase(t);
  const service = createUsersService(
    {
      publicUrl: issuer.issuer,
      identityUrl: identity.url,
      clientSecret: issuer.client.secret,
      mongodbUri,
      hashConcurrency: 2,
      hashMemoryKiB: 64,
      rateLimit: 'off',
      firstUsers: [],
      ...config,
    },
    logger,
    { broadcast: issuer.broadcast, ...(events === undefined ? {} : { events }) },
  );
  const { running, url: base } = await runServices(t, [service], { drainSeconds: 1 });
  // It waits for identity, however long that takes.
  running.started.catch(() => {});
  if (!identityIsAway) await running.started;
  const { call } = await createCheckedCall<Body>(base, 'users');

  /** A token as identity signs it for itself, with these claims over its own. */
  const internal = (claims: Parameters<TestIssuer['sign']>[0] = {}) =>
    issuer.sign({
      aud: internalAudience(issuer.issuer, 'users'),
      sub: 'identity',
      client_id: 'identity',
      trusted: true,
      scope: INTERNAL_SCOPE,
      ...claims,
    });

  const machine = await issuer.machine(ALL);
  const identityToken = await internal();
  let count = 0;
  /** A user that was not there before, and their path in /v1. */
  async function created(draft: Record<string, unknown> = {}) {
    count += 1;
    const [username, email] = [`somebody${count}`, `somebody${count}@example.org`];
    const user = { username, email, password: PASSWORD, ...draft };
    const { status, body, headers } = await call('POST', '/v1/users', machine, user);
    if (status !== 201) throw new Error(`not created: ${status}`);
    return { ...body, path: `/v1/users/${body.id}`, etag: headers.get('etag') ?? '' };
  }

  return {
    ...{ issuer, identity, mongodbUri, call, base, internal, machine, identityToken, created },
    /** A machine's token of an application that is pinned to profiles. */
    pinned: (profiles: Record<string, string>) => issuer.sign({ trusted: true, scope: ALL, profiles }),
    /** All of an account, as identity sees it. */
    account: async (id: string) =>
      (await call('GET', `/internal/users/accounts?ids=${id}`, identityToken)).body.accounts[0],
    /** The account, when this is the password. */
    async signedIn(login: string, password: string) {
      const body = { login, password };
      return (await call('POST', '/internal/users/password-checks', identityToken, body)).body.account;
    },
  };
}
