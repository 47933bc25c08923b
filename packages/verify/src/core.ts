import { createApiKeyCache } from './api-keys.ts';
import { credentialIn, isApiKey } from './authorization.ts';
import { parseScope, readClaims, type TokenClaims } from './claims.ts';
import { createProofVerifier, DPOP_CHALLENGE, type ReplayStore } from './dpop.ts';
import { invalidToken, temporarilyUnavailable, VerifyError } from './errors.ts';
import type { Introspect } from './introspection.ts';
import { createResourceMetadata, type ResourceMetadata } from './metadata.ts';
import { noRequests, type RequestCounts } from './reports.ts';
import { type OriginOptions, type ReadRequest, readRequest, type VerifiableRequest } from './request.ts';
import type { Revocable, RevocationSet } from './revocations.ts';
import { requireScopes, requireSignIn, type SignInNeed } from './sign-in.ts';
import { createTokenVerifier, type KeyGetter } from './token-verifier.ts';

/** The scopes, all of which a request needs besides a valid credential, and the sign-in. */
export type Needs = SignInNeed & { scopes?: readonly string[] };

export type Caller = {
  /** The ID of the person, or of the application if it calls for itself. */
  subject: string;
  clientId: string;
  kind: 'person' | 'machine' | 'key';
  scopes: readonly string[];
  acr: string | undefined;
  /** When the person signed in, in seconds since the epoch. */
  authTime: number | undefined;
  /** The service that acts on the subject's behalf. */
  actor: string | undefined;
  /** All claims of the token, or the introspection response of the API key. */
  claims: Readonly<Record<string, unknown>>;
};

export type Metrics = {
  verified: number;
  /** By status and error, such as `401 invalid_token`. */
  refused: Readonly<Record<string, number>>;
  /** The number of revocations received. */
  revocations: number;
  introspections: number;
  /** The time since the revocations were last known to be complete; undefined without a feed, or before they were. */
  behindSeconds: number | undefined;
};

export type Verifier = {
  /** The caller of a request. Throws a VerifyError, whose response says why, unless the credential is valid and has what is needed. */
  verify(request: VerifiableRequest, needs?: Needs): Promise<Caller>;
  readonly metadata: ResourceMetadata;
  metrics(): Metrics;
  /** Stops following revocations, and reports the last counts. Takes 1.5 seconds at most. */
  close(): Promise<void>;
};

export type StalePolicy = 'introspect' | 'refuse' | 'accept';
export type CoreOptions = OriginOptions & {
  issuer: string;
  cache?: number | undefined;
  clockSkew?: number | undefined;
  replayStore?: ReplayStore | undefined;
  /** The treatment of JWTs while the revocations are not known. */
  staleThen: StalePolicy;
  keys: KeyGetter;
  isPublished?: ((kid: string) => boolean) | undefined;
  set: RevocationSet;
  /** Without credentials, revocation is not checked, and API keys are refused. */
  credentials?:
    | {
        introspect: Introspect;
        feed: {
          isFresh(): boolean;
          started: Promise<void>;
          behindSeconds(): number | undefined;
          close(): Promise<void>;
        };
      }
    | undefined;
  /** Where requests are counted. */
  counts?: RequestCounts;
  /** The time in seconds since the epoch. */
  now?: () => number;
};

type Token = TokenClaims & { caller: Caller };
type ApiKey = Revocable & { caller: Caller; expiresAt: number; number: number };
type Identified = { caller: Caller; keyThumbprint?: string | undefined };

/** A verifier of these parts. */
export function createCore(options: CoreOptions): Verifier {
  const { issuer, audience, cache = 10_000, set, credentials, now = () => Date.now() / 1000 } = options;
  const { counts = noRequests() } = options;
  const metadata = createResourceMetadata(issuer, audience);
  let introspections = 0;
  const proofs = createProofVerifier({ replayStore: options.replayStore, now });
  const clock = { cache, now };
  const tokens = createTokenVerifier<Token>({
    ...clock,
    issuer,
    audience,
    keys: options.keys,
    isPublished: options.isPublished,
    set,
    clockSkew: options.clockSkew ?? 5,
    read(claims) {
      const token = readClaims(claims);
      const { subject, clientId, scopes, acr, authTime, actor } = token;
      const kind = subject === clientId ? 'machine' : 'person';
      return {
        ...token,
        caller: freeze({ subject, clientId, kind, scopes, acr, authTime, actor, claims }),
      };
    },
  });

  function introspect(token: string): ReturnType<Introspect> {
    introspections += 1;
    return credentials?.introspect(token) ?? Promise.reject(new Error('there are no credentials'));
  }

  const apiKeys = createApiKeyCache<ApiKey>({
    ...clock,
    async resolve(key) {
      // Before the request: its response may not know of entries that come meanwhile.
      const number = set.position;
      const response = await introspect(key);
      const resolved = readApiKey(response, audience, now());
      return resolved && { ...resolved, number };
    },
    isOutdated: (key) => set.latestAbout(key) > key.number,
  });

  async function identify(request: ReadRequest): Promise<Identified> {
    const credential = credentialIn(request.authorization);
    const { scheme, value: token } = credential;
    let isDpop = scheme === 'dpop';
    try {
      const isKey = isApiKey(credential);
      if (isKey && credentials === undefined) throw invalidToken('API keys are not accepted here.');
      const { feed } = credentials ?? {};
      if (feed?.isFresh() === false) await feed.started;
      // Before the revocations are read: the feed may be loaded after that.
      const isFresh = feed?.isFresh();
      if (isKey) return await apiKeys.verify(token, { refresh: !isFresh });
      const known = await tokens.verify(token);
      const { keyThumbprint } = known;
      isDpop ||= keyThumbprint !== undefined;
      if (isFresh === false) await decideStale(options.staleThen, () => introspect(token));
      if (isDpop) {
        await proofs.verify({ ...request, scheme, token, keyThumbprint });
      }
      return known;
    } catch (error) {
      throw isDpop ? withChallenge(error, DPOP_CHALLENGE) : error;
    }
  }

  async function verify(request: VerifiableRequest, needs: Needs): Promise<Caller> {
    const { caller, keyThumbprint } = await identify(readRequest(request, options));
    try {
      if (needs.scopes !== undefined) requireScopes(caller.scopes, needs.scopes);
      requireSignIn(caller, needs, { now: now() });
    } catch (error) {
      throw keyThumbprint === undefined ? error : withChallenge(error, DPOP_CHALLENGE);
    }
    return caller;
  }

  return {
    metadata,
    async verify(request, needs = {}) {
      try {
        const caller = await verify(request, needs);
        counts[caller.kind] += 1;
        return caller;
      } catch (error) {
        if (!(error instanceof VerifyError)) throw error;
        const reason = `${error.status} ${error.error}`;
        counts.refused[reason] = (counts.refused[reason] ?? 0) + 1;
        throw withChallenge(error, { parameters: { resource_metadata: metadata.url } });
      }
    },
    metrics: () => ({
      verified: counts.person + counts.machine + counts.key,
      refused: { ...counts.refused },
      introspections,
      revocations: set.added,
      behindSeconds: credentials?.feed.behindSeconds(),
    }),
    async close() {
      await credentials?.feed.close();
    },
  };
}

/** Throws unless a token is accepted while the revocations are not known. */
async function decideStale(then: StalePolicy, introspect: () => ReturnType<Introspect>): Promise<void> {
  if (then === 'accept') return;
  const unknown = 'It is not known at the moment which tokens are revoked.';
  if (then === 'refuse') throw temporarilyUnavailable(unknown);
  const { active } = await introspect().catch((error) => {
    throw temporarilyUnavailable(unknown, error);
  });
  if (active !== true) throw invalidToken('The access token has been revoked.');
}

/** The error with more in its challenge. An error may be shared by requests, and is not changed. */
function withChallenge(error: unknown, more: Partial<VerifyError['challenge']>): unknown {
  if (!(error instanceof VerifyError)) return error;
  const { status, error: code, message, challenge, cause } = error;
  const parameters = { ...challenge.parameters, ...more.parameters };
  return new VerifyError(status, code, message, { ...challenge, ...more, parameters, cause });
}

/** Requests with the same credential share its caller, so nobody may change it. */
function freeze<Shared>(shared: Shared): Shared {
  if (typeof shared === 'object' && shared !== null) Object.values(Object.freeze(shared)).forEach(freeze);
  return shared;
}

/** The caller by an API key, if the key is active and for this audience. */
function readApiKey(
  response: Readonly<Record<string, unknown>>,
  audience: string,
  now: number,
): Omit<ApiKey, 'number'> | undefined {
  const { active, aud, client_id: clientId, sub, scope, exp, jti, owner } = response;
  if (active !== true || typeof clientId !== 'string' || ![aud].flat().includes(audience)) return undefined;
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const ownerId = text(owner);
  return {
    caller: freeze({
      subject: text(sub) ?? clientId,
      clientId,
      kind: 'key',
      scopes: parseScope(text(scope) ?? ''),
      acr: undefined,
      authTime: undefined,
      actor: undefined,
      claims: response,
    }),
    clientId,
    person: ownerId === undefined ? undefined : { id: ownerId },
    expiresAt: typeof exp === 'number' ? exp : Number.POSITIVE_INFINITY,
    issuedAt: now,
    tokenId: text(jti),
    grantId: undefined,
    epoch: { client: 0, subject: 0 },
  };
}
