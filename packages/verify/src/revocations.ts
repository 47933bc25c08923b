export const REVOCATION_KINDS = ['token', 'grant', 'subject', 'client', 'api_key', 'key'] as const;
export type RevocationKind = (typeof REVOCATION_KINDS)[number];

/**
 * Something that is no longer accepted. `id`: jti, gid, user id, client_id, API key id, or the kid of a withdrawn
 * signing key. `epoch` (subject and client only): credentials with a lower epoch are revoked; without it, all are.
 * `expiresAt`: when the last credential that it can hit expires, in seconds since the epoch.
 */
export type Revocation = { kind: RevocationKind; id: string; epoch?: number; expiresAt: number };

/** The parts of a credential by which it can be revoked. */
export type Revocable = {
  clientId: string;
  /** The person who has signed in, or the owner of a machine. */
  person: { id: string } | undefined;
  /** `iat`, in seconds since the epoch; for an API key, when it was resolved. */
  issuedAt: number;
  tokenId: string | undefined;
  grantId: string | undefined;
  /** The id of an API key of our own services. */
  keyId?: string | undefined;
  /** The epochs of the client and of the person when the credential was made; a later revocation has a higher one. */
  epoch: { client: number; subject: number };
};

export type RevocationSet = {
  /** Adds an entry, in any order and any number of times: the highest epoch and the latest expiry are kept. */
  add(revocation: Revocation): void;
  /** Whether a credential is revoked. `kid` names the key that signed it; undefined for API keys. */
  isRevoked(credential: Revocable, kid?: string): boolean;
  /** The position of the latest entry about a credential, whatever its epoch. */
  latestAbout(credential: Revocable): number;
  /** Refuses credentials issued before a time, in seconds since the epoch. At another time than before, API keys resolved until now are outdated. */
  refuseIssuedBefore(time: number): void;
  /** Credentials issued up to this time are refused, in seconds since the epoch; undefined while every entry has room. */
  readonly refusedUntil: number | undefined;
  /** The number of entries that were added. */
  readonly added: number;
  /** Grows with each entry, and with each change of the time before which credentials are refused. */
  readonly position: number;
  /** The number of signing keys withdrawn since the start; grows when the issuer's keys have changed. */
  readonly withdrawnKeys: number;
  readonly size: number;
};

/** Longer than API keys are cached: one may have been resolved just before its revocation came. */
const MIN_RETENTION_SECONDS = 120;
const SWEEP_INTERVAL_SECONDS = 30;
/** About 70 MB. */
const CAPACITY = 500_000;
/** How far the clocks of the issuer and of this machine may differ. */
const CLOCK_DIFFERENCE_SECONDS = 60;

type Entry = { epoch: number; expiresAt: number; addedAt: number; number: number };

/**
 * Revocations in memory. Expired entries are removed when others are added. An expired entry that is still there does
 * no harm: ids are never reused, and epochs only grow.
 *
 * When there are more than `capacity`, the oldest are dropped, and every credential that one of them could hit is refused:
 * those that were issued before it came. Their holders get new ones, and API keys are resolved again. Withdrawn signing keys
 * are never dropped, since whoever has one chooses the time of issue.
 */
export function createRevocationSet({
  capacity = CAPACITY,
  now: clock = () => Date.now() / 1000,
} = {}): RevocationSet {
  const entries = Object.fromEntries(REVOCATION_KINDS.map((kind) => [kind, new Map()])) as Record<
    RevocationKind,
    Map<string, Entry>
  >;
  const { token, grant, subject, client, api_key: apiKey, key } = entries;
  const maps = Object.values(entries);
  const droppable = [token, grant, subject, client, apiKey];
  const size = () => maps.reduce((sum, map) => sum + map.size, 0);
  let refusedUntil: number | undefined;
  let withdrawnKeys = 0;
  let sweptAt = 0;
  let added = 0;
  let position = 0;
  /** API keys resolved before this position are outdated: an entry was dropped for want of room, or the API was registered again. */
  let outdated = 0;
  let refusedBefore: number | undefined;

  function sweep(now: number): void {
    sweptAt = now;
    for (const map of maps) {
      for (const [id, { expiresAt }] of map) if (expiresAt <= now) map.delete(id);
    }
  }

  /** Drops the oldest entry of the kind that has most. */
  function dropOldest(now: number): void {
    const largest = droppable.reduce((most, map) => (map.size > most.size ? map : most));
    const oldest = largest.entries().next().value;
    if (oldest === undefined) return;
    const [id, { addedAt, expiresAt, number }] = oldest;
    largest.delete(id);
    outdated = Math.max(outdated, number);
    if (expiresAt > now) refusedUntil = Math.max(refusedUntil ?? 0, addedAt + CLOCK_DIFFERENCE_SECONDS);
  }

  /** Whether a credential of this epoch is older than the entry allows. */
  function isBefore(entry: Entry | undefined, epoch: number): boolean {
    return entry !== undefined && epoch < entry.epoch;
  }

  return {
    add({ kind, id, epoch = Number.POSITIVE_INFINITY, expiresAt }) {
      const now = clock();
      if (now - sweptAt >= SWEEP_INTERVAL_SECONDS) sweep(now);
      const map = entries[kind];
      const known = map.get(id);
      if (known === undefined && kind === 'key') withdrawnKeys += 1;
      // A map keeps the order of insertion. A changed entry counts as a new one.
      map.delete(id);
      added += 1;
      position += 1;
      map.set(id, {
        epoch: Math.max(epoch, known?.epoch ?? epoch),
        expiresAt: Math.max(expiresAt, known?.expiresAt ?? 0, now + MIN_RETENTION_SECONDS),
        addedAt: Math.floor(now),
        number: position,
      });
      if (size() > capacity) dropOldest(now);
    },
    refuseIssuedBefore(time) {
      refusedUntil = Math.max(refusedUntil ?? 0, Math.floor(time) - 1);
      if (time === refusedBefore) return;
      refusedBefore = time;
      position += 1;
      outdated = position;
    },
    isRevoked({ tokenId, grantId, keyId, clientId, person, epoch, issuedAt }, kid) {
      return (
        (refusedUntil !== undefined && issuedAt <= refusedUntil) ||
        (tokenId !== undefined && token.has(tokenId)) ||
        (grantId !== undefined && grant.has(grantId)) ||
        (keyId !== undefined && apiKey.has(keyId)) ||
        isBefore(client.get(clientId), epoch.client) ||
        (person !== undefined && isBefore(subject.get(person.id), epoch.subject)) ||
        (kid !== undefined && key.has(kid))
      );
    },
    latestAbout({ tokenId = '', grantId = '', clientId, person }) {
      const about = [
        token.get(tokenId),
        grant.get(grantId),
        client.get(clientId),
        subject.get(person?.id ?? ''),
      ];
      return Math.max(outdated, ...about.map((entry) => entry?.number ?? 0));
    },
    get refusedUntil() {
      return refusedUntil;
    },
    get added() {
      return added;
    },
    get position() {
      return position;
    },
    get withdrawnKeys() {
      return withdrawnKeys;
    },
    get size() {
      return size();
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
