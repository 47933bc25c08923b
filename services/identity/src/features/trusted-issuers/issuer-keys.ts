import type { Outbound } from '@gatehouse/outbound/outbound';
import {
  type CryptoKey,
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type FlattenedJWSInput,
  type JWSHeaderParameters,
} from 'jose';
import { LRUCache } from 'lru-cache';
import { isHttps } from './issuer-url.ts';
import { withoutSvidUses } from './spiffe.ts';
import { grantIdOf, MAX_ISSUERS, type WorkloadIssuer } from './trusted-issuer.ts';

/** Of a discovery document or a key set. */
export const KEYS_BOUNDS = { timeoutMs: 5000, maxBytes: 256 * 1024 };
/** How long keys, and the address of keys, are used without being fetched again. */
const KEYS_MS = 600_000;
const ADDRESS_MS = 3_600_000;
/** How often an issuer is asked for anything: unknown keys come from anybody. */
const MAX_FETCHES = 5;
const FETCHES_MS = 60_000;

/** Finds a key of an issuer for jose, whose errors it throws, and those of the connection. */
export type FindKey = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>;

/** The keys of trusted issuers: those that an admin has pasted, or from their servers. */
export type IssuerKeys = {
  of(issuer: WorkloadIssuer): FindKey;
};

/** @param options.outbound with KEYS_BOUNDS */
export function createIssuerKeys(options: { outbound: Pick<Outbound, 'read'> }): IssuerKeys {
  const known = new LRUCache<string, FindKey>({ max: MAX_ISSUERS });
  return {
    of(issuer) {
      // Other keys come with another generation.
      const id = grantIdOf(issuer);
      const keys = known.get(id) ?? createKeys(issuer, options.outbound);
      known.set(id, keys);
      return keys;
    },
  };
}

function createKeys(issuer: WorkloadIssuer, outbound: Pick<Outbound, 'read'>): FindKey {
  if (issuer.jwks !== undefined) return createLocalJWKSet({ keys: [...issuer.jwks.keys] });
  const read = limitedReads(outbound);
  type Remote = { keys: ReturnType<typeof createRemoteJWKSet>; uri: string; until: number };
  let remote: Remote | undefined;
  let pending: Promise<Remote> | undefined;

  async function load(): Promise<Remote> {
    const uri = issuer.jwksUri ?? (await discover(issuer.issuer, read));
    const until = Date.now() + ADDRESS_MS;
    if (remote?.uri === uri) return { ...remote, until };
    const keys = createRemoteJWKSet(new URL(uri), {
      [customFetch]: async (url, { signal }) => Response.json(withoutSvidUses(await read(url, signal))),
      ...{ timeoutDuration: KEYS_BOUNDS.timeoutMs, cacheMaxAge: KEYS_MS },
      // Whether they are fetched again is decided below.
      cooldownDuration: Number.POSITIVE_INFINITY,
    });
    return { keys, uri, until };
  }

  async function current(): Promise<Remote['keys']> {
    if (remote !== undefined && remote.until > Date.now()) return remote.keys;
    pending ??= load().finally(() => {
      pending = undefined;
    });
    const known = remote;
    remote = await (known === undefined ? pending : pending.catch(() => known));
    return remote.keys;
  }

  return async (header, token) => {
    const keys = await current();
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      // The issuer may have new keys.
      await keys.reload().catch(() => {
        throw error;
      });
      return keys(header, token);
    }
  };
}

type Read = (url: string, signal?: AbortSignal) => Promise<object>;

/** Reads the JSON object at a URL, and follows no redirects. Rejects when it has been asked for too much lately. */
function limitedReads(outbound: Pick<Outbound, 'read'>): Read {
  let times: number[] = [];
  return async (url, signal) => {
    times = times.filter((time) => time > Date.now() - FETCHES_MS);
    if (times.length >= MAX_FETCHES) throw new Error('the keys have been fetched too often');
    times.push(Date.now());
    const { status, body } = await outbound.read(url, { headers: { accept: 'application/json' }, signal });
    if (status !== 200) throw new Error(`the server answered with the status ${status}`);
    return Object(JSON.parse(body.toString('utf8')));
  };
}

/** Where the keys of an issuer are (OpenID Connect Discovery 1.0 §4). */
async function discover(issuer: string, read: Read): Promise<string> {
  const document = await read(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  const { issuer: own, jwks_uri: uri } = document as Record<string, unknown>;
  if (own !== issuer) throw new Error('the discovery document is of another issuer');
  if (typeof uri !== 'string' || !isHttps(uri, issuer.startsWith('http:')))
    throw new Error('the discovery document has no https URL of keys');
  return uri;
}
