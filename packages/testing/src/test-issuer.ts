import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { newId } from '@gatehouse/core/ids';
import { CLIENT_SERVICES, SERVICE_NAMES } from '@gatehouse/core/services';
import { newApiKey } from '@gatehouse/tokens/api-key';
import type { ResolvedKey } from '@gatehouse/tokens/api-keys';
import { REVOCATIONS_SUBJECT } from '@gatehouse/tokens/revocation-feed';
import {
  API_SCOPES,
  apiAudience,
  INTERNAL_SCOPE,
  internalAudience,
  type Role,
} from '@gatehouse/tokens/scopes';
import type { Revocation } from '@gatehouse/verify/revocations';
import { decodeJwt, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { listen } from './listen.ts';
import { createTestBroadcast, type TestBroadcast } from './test-broadcast.ts';

type SignedClaims = { sub?: string; owner?: string; client_id?: string; trusted?: boolean; roles?: Role[] };

export type TestIssuer = {
  issuer: string;
  /** A token with these claims over those of a valid access token; undefined takes a claim away. */
  sign(claims?: JWTPayload, header?: { typ?: string }): Promise<string>;
  /** A token of a trusted machine. */
  machine(scope: string): Promise<string>;
  /** A token of a person, by way of some application. */
  person(id: string, role: Role, scope: string): Promise<string>;
  /** A token for the internal routes of a service, as issued to the client. */
  internal(clientId: string, service: string): Promise<string>;
  /** An API key that resolves; by default one of a trusted machine without scopes and without an end. */
  apiKey(resolved?: Partial<ResolvedKey>): { id: string; key: string };
  /**
   * Enters a revocation: it is broadcast, and part of the snapshot from then on. By default it expires in an hour.
   * An API key that is revoked does not resolve any more.
   */
  revoke(entry: Omit<Revocation, 'expiresAt'> & { expiresAt?: number }): void;
  /** Makes a person the owner of an application. */
  own(userId: string, clientId: string): void;
  /** The rights of an owner of applications that identity states, where they differ from those that `own` gave. */
  rights: Map<
    string,
    {
      role?: Role | 'machine' | null;
      person?: string | null;
      client_ids?: string[];
      visible_client_ids?: string[];
      scopes?: readonly string[];
      owner?: string | null;
      epochs?: { recovery: number; authority: number };
      credentials?: {
        ids: string[];
        given_by: string | null;
        epoch: number;
        role: Role | 'machine';
        scopes: readonly string[];
      }[];
    }
  >;
  /** Where revocations are broadcast; it can be cut off. */
  broadcast: TestBroadcast;
  /** By their handles, the claims of those who have let a service read for them; what is deleted has ended. */
  delegations: Map<string, JWTPayload>;
  /** The names of applications by their ids, which everybody who delegates may see. */
  applicationNames: Map<string, string>;
  /** The ids of grants, applications, API keys and users whose credentials have ended, whether it was announced or not. */
  ended: Set<string>;
  /** The client of the service under test, which gets tokens for internal routes at /oauth2/token. All have its secret. */
  client: { id: string; secret: string };
  /** The actions on queues and webhooks that identity was sent; while it is away, it answers 404. */
  queueActions: {
    taken: { id: string; action: string; details: object; by: object; subject?: string }[];
    away: boolean;
  };
  /** How often each path was asked for, without the query. */
  asked: Map<string, number>;
};

/**
 * An issuer for tests of a service that verifies tokens: a real key, served by a real JWKS endpoint on loopback until
 * the test ends, beside what else identity tells a service: /oauth2/token (client credentials, for internal
 * audiences), and the internal routes for revocations, API keys and delegations. `service` is the one under test.
 */
export async function createTestIssuer(
  t: { teardown(fn: () => void): void },
  service = 'users',
): Promise<TestIssuer> {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const kid = newId('key');
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' }] };
  const client = { id: service, secret: newId('secret') };
  const revocations: Revocation[] = [];
  const apiKeys = new Map<string, ResolvedKey>();
  const owned = new Map<string, string[]>();
  const rights: TestIssuer['rights'] = new Map();
  /** Those in the first tokens that were signed. */
  const roles = new Map<string, Role | 'machine'>();
  const asked: TestIssuer['asked'] = new Map();
  const queueActions: TestIssuer['queueActions'] = { taken: [], away: false };
  const broadcast = createTestBroadcast(t, REVOCATIONS_SUBJECT);

  /** By default a person with the role `user`, whose applications have all scopes; or one of these applications. */
  const ownedBy = (id: string) => {
    const role = roles.get(id) ?? 'user';
    const [person = id] = [...owned].find(([, ids]) => ids.includes(id)) ?? [];
    const client_ids = person === id ? (owned.get(id) ?? []) : [id];
    const keys = [...apiKeys.values()].filter((it) => it.client_id === id);
    const given = {
      client_ids,
      visible_client_ids: client_ids,
      person: person as string | null,
      role,
      scopes: client_ids.length > 0 ? API_SCOPES : [],
      epochs: { recovery: 0, authority: 0 },
      credentials: keys.map((it) => ({
        ...{ ids: [it.id], given_by: it.owner, epoch: 0, role: it.role ?? 'machine', scopes: API_SCOPES },
      })),
      ...rights.get(id),
    };
    return { owner: given.person, ...given };
  };

  const routes: Record<
    string,
    (request: IncomingMessage, url: URL) => Promise<[status: number, body: unknown]>
  > = {
    '/internal/identity/owned-applications': async (request) => {
      const { ids } = JSON.parse(await text(request)) as { ids: string[] };
      return [200, { owners: ids.map(ownedBy) }];
    },
    '/oauth2/token': async (request) => {
      const form = new URLSearchParams(await text(request));
      const basic = (id: string) => `Basic ${Buffer.from(`${id}:${client.secret}`).toString('base64')}`;
      const clientId = [client.id, ...CLIENT_SERVICES].find(
        (id) => request.headers.authorization === basic(id),
      );
      if (clientId === undefined) return [401, { error: 'invalid_client' }];
      if (form.get('grant_type') !== 'client_credentials') return [400, { error: 'unsupported_grant_type' }];
      const target = SERVICE_NAMES.find((name) => form.get('resource') === internalAudience(issuer, name));
      if (target === undefined) return [400, { error: 'invalid_target' }];
      if (form.get('scope') !== INTERNAL_SCOPE) return [400, { error: 'invalid_scope' }];
      const token = await internal(clientId, target);
      if (target === 'identity') tokensForIdentity.add(token);
      return [200, { access_token: token, token_type: 'Bearer', expires_in: 600, scope: INTERNAL_SCOPE }];
    },
    '/internal/identity/revocations': async (_request, url) => {
      const since = Number(url.searchParams.get('since') ?? 0);
      return [200, { revocations: revocations.slice(since), as_of: String(revocations.length) }];
    },
    '/internal/identity/api-keys/resolve': async (request) => {
      const found = apiKeys.get(JSON.parse(await text(request)).hash);
      return found === undefined
        ? [404, { error: { code: 'not_found', message: 'No such key.' } }]
        : [200, found];
    },
    '/internal/identity/queue-actions': async (request) => {
      if (queueActions.away) return [404, { error: { code: 'not_found', message: 'No such route.' } }];
      queueActions.taken.push(JSON.parse(await text(request)));
      return [200, {}];
    },
    '/internal/identity/delegations': async (request) => {
      const { credential } = JSON.parse(await text(request)) as { credential: string };
      const handle = newId('dlg');
      delegations.set(handle, decodeJwt(credential.replace(/^bearer /i, '')));
      return [201, { handle }];
    },
    '/internal/identity/delegations/token': async (request) => {
      const { handle } = JSON.parse(await text(request)) as { handle: string };
      const claims = delegations.get(handle);
      if (claims === undefined) return [404, { error: { code: 'not_found', message: 'It has ended.' } }];
      const { sub, client_id, roles, trusted, scope, epoch } = claims;
      const act = { sub: client.id };
      const token = await sign({ sub: String(sub), client_id, roles, trusted, scope, epoch, act });
      return [200, { access_token: token, expires_in: 300 }];
    },
    '/internal/identity/delegations/application-names': async (request) => {
      const { handle, client_ids: ids } = JSON.parse(await text(request)) as Record<string, string>;
      if (!delegations.has(String(handle)))
        return [404, { error: { code: 'not_found', message: 'It has ended.' } }];
      const known = [...applicationNames].filter(([id]) => ids?.includes(id));
      return [200, { names: Object.fromEntries(known) }];
    },
    '/internal/identity/ended-credentials': async (request) => {
      const { credentials } = JSON.parse(await text(request)) as { credentials: Record<string, unknown>[] };
      return [200, { ended: credentials.map((it) => Object.values(it).some((id) => ended.has(String(id)))) }];
    },
  };
  const ended: TestIssuer['ended'] = new Set();
  const delegations: TestIssuer['delegations'] = new Map();
  const applicationNames: TestIssuer['applicationNames'] = new Map();
  const tokensForIdentity = new Set<string>();

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', issuer);
    asked.set(url.pathname, (asked.get(url.pathname) ?? 0) + 1);
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
    const isRefused = url.pathname.startsWith('/internal/') && !tokensForIdentity.has(token);
    const route = routes[url.pathname] ?? (async () => [200, jwks] as [number, unknown]);
    const [status, body] = isRefused ? [401, { error: { code: 'unauthorized' } }] : await route(request, url);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  const server = createServer((request, response) => void respond(request, response));
  const issuer = `http://127.0.0.1:${await listen(t, server)}`;

  const sign: TestIssuer['sign'] = (claims = {}, { typ = 'at+jwt' } = {}) => {
    const {
      sub = 'app_test',
      owner = sub,
      client_id: client = 'app_test',
      trusted,
      roles: [role] = [],
    } = claims as SignedClaims;
    if (trusted === true) roles.set(client, 'machine');
    else if (role !== undefined && !roles.has(owner)) roles.set(owner, role);
    const now = Math.floor(Date.now() / 1000);
    const all = {
      iss: issuer,
      aud: apiAudience(issuer),
      sub: 'app_test',
      client_id: 'app_test',
      iat: now,
      exp: now + 600,
      jti: newId('jti'),
      epoch: { client: 0, subject: 0 },
      ...claims,
    };
    return new SignJWT(all).setProtectedHeader({ alg: 'ES256', kid, typ }).sign(privateKey);
  };
  const internal: TestIssuer['internal'] = (clientId, service) =>
    sign({
      aud: internalAudience(issuer, service),
      sub: clientId,
      client_id: clientId,
      trusted: true,
      scope: INTERNAL_SCOPE,
    });
  return {
    issuer,
    sign,
    machine: (scope) => sign({ trusted: true, scope }),
    person: (id, role, scope) => sign({ sub: id, client_id: 'app_web', roles: [role], scope }),
    internal,
    apiKey(resolved = {}) {
      const { id, key, hash } = newApiKey();
      apiKeys.set(hash, {
        id,
        client_id: 'app_test',
        scopes: [],
        trusted: true,
        owner: null,
        role: null,
        epoch: { client: 0 },
        expires_at: null,
        ...resolved,
      });
      return { id, key };
    },
    revoke(entry) {
      const revocation = { expiresAt: Math.floor(Date.now() / 1000) + 3600, ...entry };
      revocations.push(revocation);
      for (const [hash, { id }] of apiKeys) {
        if (entry.kind === 'api_key' && entry.id === id) apiKeys.delete(hash);
      }
      broadcast.send(revocation);
    },
    own: (userId, clientId) => void owned.set(userId, [...(owned.get(userId) ?? []), clientId]),
    rights,
    broadcast,
    delegations,
    applicationNames,
    ended,
    client,
    queueActions,
    asked,
  };
}
