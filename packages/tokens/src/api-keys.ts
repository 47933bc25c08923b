import { ServiceError, unavailable } from '@gatehouse/kit/errors';
import { parseApiKey } from './api-key.ts';
import { createBoundedMap } from './bounded-map.ts';
import { type Caller, unauthenticated } from './caller.ts';
import type { RevocationSet } from './revocations.ts';
import type { Role } from './scopes.ts';
import { readProfiles } from './verifier.ts';

/** What an API key stands for: the body of identity's answer to POST /internal/identity/api-keys/resolve. */
export type ResolvedKey = {
  id: string;
  client_id: string;
  scopes: readonly string[];
  /** Whether an admin has marked the application as a machine of its own standing. */
  trusted: boolean;
  /** The person to whom the application belongs, and their role; null for nobody. */
  owner: string | null;
  role: Role | null;
  profiles?: object;
  epoch: { client: number; subject?: number };
  /** As an ISO 8601 time; null for a key without an end. */
  expires_at: string | null;
};

export type ApiKeyResolver = {
  /**
   * The caller that an API key stands for. Throws `unauthenticated` for a key that does not hold, and `unavailable`
   * when it cannot be resolved. `admit` is called before a key that is not known yet is resolved; what it throws is
   * thrown.
   */
  verify(key: string, admit?: () => Promise<void>): Promise<Caller>;
};

/** How long an answer is kept, in seconds: that a key holds, and that it does not. */
const KEPT = { live: 60, dead: 5 };

type Kept = { caller: Caller; until: number };

/**
 * Resolves API keys at identity, by their hash, and keeps the answers. What the revocation set hits is dropped at
 * its next use, also what was being resolved when the revocation came, and resolved anew: a key outlives a change of
 * its owner's role or password, under the new epoch.
 */
export function createApiKeyResolver(options: {
  /** `hash`: SHA-256 of the whole key, base64url. Undefined when there is no such key, or it does not hold. */
  resolve: (hash: string) => Promise<ResolvedKey | undefined>;
  set: RevocationSet;
  /** How many keys are kept that hold, and as many that do not. */
  cacheSize?: number;
}): ApiKeyResolver {
  const { resolve, set, cacheSize = 10_000 } = options;
  const live = createBoundedMap<Kept>(cacheSize);
  const dead = createBoundedMap<number>(cacheSize);
  const pending = new Map<string, Promise<Caller | undefined>>();

  async function ask(hash: string): Promise<Caller | undefined> {
    let caller: Caller | undefined;
    try {
      const resolved = await resolve(hash);
      caller = resolved && callerOf(resolved);
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      throw unavailable('The API key cannot be checked just now.', error);
    }
    const now = Date.now() / 1000;
    if (caller === undefined) dead.set(hash, now + KEPT.dead);
    else live.set(hash, { caller, until: now + KEPT.live });
    return caller;
  }

  /** One question for all who wait for the answer. */
  function askOnce(hash: string): Promise<Caller | undefined> {
    let asked = pending.get(hash);
    if (asked === undefined) {
      asked = ask(hash).finally(() => pending.delete(hash));
      pending.set(hash, asked);
    }
    return asked;
  }

  /** The caller, when that is known and still holds. */
  function recall(hash: string): Caller | undefined {
    const kept = live.get(hash);
    if (kept === undefined) return undefined;
    const now = Date.now() / 1000;
    if (kept.until > now && kept.caller.expiresAt > now && !set.isRevoked(kept.caller)) return kept.caller;
    live.delete(hash);
    return undefined;
  }

  return {
    async verify(key, admit) {
      const hash = parseApiKey(key)?.hash;
      const deadUntil = hash === undefined ? undefined : dead.get(hash);
      const isDead = deadUntil !== undefined && deadUntil > Date.now() / 1000;
      if (hash === undefined || isDead) throw doesNotHold();
      const known = recall(hash);
      if (known !== undefined) return known;
      await admit?.();
      // The first answer may have been on its way when a revocation came. A second question is put after that.
      for (let question = 1; question <= 2; question += 1) {
        const caller = await askOnce(hash);
        if (caller === undefined || !(caller.expiresAt > Date.now() / 1000)) break;
        if (!set.isRevoked(caller)) return caller;
      }
      throw doesNotHold();
    },
  };
}

function doesNotHold(): ServiceError {
  return unauthenticated('The API key is not valid.', 'invalid_token');
}

function callerOf(key: ResolvedKey): Caller | undefined {
  // Only a trusted application stands for itself.
  if (!key.trusted && key.owner === null) return undefined;
  const now = Math.floor(Date.now() / 1000);
  return {
    subject: key.client_id,
    clientId: key.client_id,
    scopes: new Set(key.scopes),
    person: key.trusted || key.owner === null ? undefined : { id: key.owner, role: key.role ?? 'user' },
    expiresAt: key.expires_at === null ? now + KEPT.live : Date.parse(key.expires_at) / 1000,
    issuedAt: now,
    tokenId: undefined,
    grantId: undefined,
    keyId: key.id,
    keyThumbprint: undefined,
    profiles: readProfiles(key.profiles),
    epoch: { client: key.epoch.client, subject: key.epoch.subject ?? 0 },
    authTime: undefined,
  };
}
