import type { Caller } from './caller.ts';

export const REVOCATION_KINDS = ['token', 'grant', 'subject', 'client', 'api_key', 'key'] as const;
export type RevocationKind = (typeof REVOCATION_KINDS)[number];

/**
 * Something that is no longer accepted. `id`: jti, gid, user id, client_id, API key id, or the kid of a withdrawn
 * signing key. `epoch` (subject and client only): credentials with a lower epoch are revoked; without it, all are.
 * `expiresAt`: when the last credential that it can hit expires, in seconds since the epoch.
 */
export type Revocation = { kind: RevocationKind; id: string; epoch?: number; expiresAt: number };

export type RevocationSet = {
  /** Adds an entry, in any order and any number of times: the highest epoch and the latest expiry are kept. */
  add(revocation: Revocation): void;
  /** Whether a credential is revoked. `kid` names the key that signed it; undefined for API keys. */
  isRevoked(caller: Caller, kid?: string): boolean;
  /** The number of signing keys withdrawn since the start; grows when the issuer's keys have changed. */
  readonly withdrawnKeys: number;
  readonly size: number;
};

/** Longer than API keys are cached: one may have been resolved just before its revocation came. */
const MIN_RETENTION_SECONDS = 120;
const SWEEP_INTERVAL_SECONDS = 30;

type Entry = { epoch: number; expiresAt: number };

/**
 * Revocations in memory. Expired entries are removed when others are added. An expired entry that is still there does
 * no harm: ids are never reused, and epochs only grow.
 */
export function createRevocationSet(): RevocationSet {
  const entries = Object.fromEntries(REVOCATION_KINDS.map((kind) => [kind, new Map()])) as Record<
    RevocationKind,
    Map<string, Entry>
  >;
  const { token, grant, subject, client, api_key: apiKey, key } = entries;
  const maps = Object.values(entries);
  let withdrawnKeys = 0;
  let sweptAt = 0;

  function sweep(now: number): void {
    sweptAt = now;
    for (const map of maps) {
      for (const [id, { expiresAt }] of map) if (expiresAt <= now) map.delete(id);
    }
  }

  /** Whether a credential of this epoch is older than the entry allows. */
  function isBefore(entry: Entry | undefined, epoch: number): boolean {
    return entry !== undefined && epoch < entry.epoch;
  }

  return {
    add({ kind, id, epoch = Number.POSITIVE_INFINITY, expiresAt }) {
      const now = Date.now() / 1000;
      if (now - sweptAt >= SWEEP_INTERVAL_SECONDS) sweep(now);
      const map = entries[kind];
      const known = map.get(id);
      if (known === undefined && kind === 'key') withdrawnKeys += 1;
      map.set(id, {
        epoch: Math.max(epoch, known?.epoch ?? epoch),
        expiresAt: Math.max(expiresAt, known?.expiresAt ?? 0, now + MIN_RETENTION_SECONDS),
      });
    },
    isRevoked({ tokenId, grantId, keyId, clientId, person, epoch }, kid) {
      return (
        (tokenId !== undefined && token.has(tokenId)) ||
        (grantId !== undefined && grant.has(grantId)) ||
        (keyId !== undefined && apiKey.has(keyId)) ||
        isBefore(client.get(clientId), epoch.client) ||
        (person !== undefined && isBefore(subject.get(person.id), epoch.subject)) ||
        (kid !== undefined && key.has(kid))
      );
    },
    get withdrawnKeys() {
      return withdrawnKeys;
    },
    get size() {
      return maps.reduce((sum, map) => sum + map.size, 0);
    },
  };
}

/** Validates a revocation from outside; undefined if it is malformed. */
export function readRevocation(value: unknown): Revocation | undefined {
  const { kind, id, epoch, expiresAt } = Object(value) as Partial<Record<keyof Revocation, unknown>>;
  if (!(REVOCATION_KINDS as readonly unknown[]).includes(kind)) return undefined;
  if (typeof id !== 'string' || id === '' || !Number.isFinite(expiresAt)) return undefined;
  if (epoch !== undefined && !Number.isFinite(epoch)) return undefined;
  return {
    kind: kind as RevocationKind,
    id,
    ...(epoch === undefined ? {} : { epoch: epoch as number }),
    expiresAt: expiresAt as number,
  };
}
