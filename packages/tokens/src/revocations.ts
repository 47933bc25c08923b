import type { Caller } from './caller.ts';

export const REVOCATION_KINDS = ['token', 'grant', 'subject', 'client', 'api_key', 'key'] as const;
export type RevocationKind = (typeof REVOCATION_KINDS)[number];

/**
 * What is not accepted any more. `id`: jti, gid, user id, client_id, API key id, or the kid of a signing key that
 * was withdrawn. `epoch` (subject and client only): credentials that carry a lower one are dead; without it, all
 * are. `expiresAt`: seconds since the epoch, when the last credential it can hit has expired.
 */
export type Revocation = { kind: RevocationKind; id: string; epoch?: number; expiresAt: number };

export type RevocationSet = {
  /** Adds an entry; of two for the same, the higher epoch and the later end hold. In any order, any number of times. */
  add(revocation: Revocation): void;
  /** Whether a credential is dead. `kid` is that of the key that signed it, undefined for API keys. */
  isRevoked(caller: Caller, kid?: string): boolean;
  /** How many signing keys have been withdrawn since the start: it grows when the issuer's keys have changed. */
  readonly withdrawnKeys: number;
  readonly size: number;
};

/** An entry is kept this long in any case: what was resolved just before it came is cached for a minute. */
const KEPT_SECONDS = 120;
const SWEEP_SECONDS = 30;

type Entry = { epoch: number; expiresAt: number };

/**
 * Revocations in memory. Entries that have expired are forgotten when others come, a while after their end. One
 * that is still there hits nothing that should live: an id is never used again, and epochs only grow.
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

  /** Whether the credential is older than what the entry lets live. */
  function isBefore(entry: Entry | undefined, epoch: number): boolean {
    return entry !== undefined && epoch < entry.epoch;
  }

  return {
    add({ kind, id, epoch = Number.POSITIVE_INFINITY, expiresAt }) {
      const now = Date.now() / 1000;
      if (now - sweptAt >= SWEEP_SECONDS) sweep(now);
      const map = entries[kind];
      const known = map.get(id);
      if (known === undefined && kind === 'key') withdrawnKeys += 1;
      map.set(id, {
        epoch: Math.max(epoch, known?.epoch ?? epoch),
        expiresAt: Math.max(expiresAt, known?.expiresAt ?? 0, now + KEPT_SECONDS),
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

/** A revocation as it came from outside; undefined when it is none. */
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
