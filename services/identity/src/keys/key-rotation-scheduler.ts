import type { Logger } from '@gatehouse/core/logger';
import type { MetricFamily } from '@gatehouse/core/metrics-text';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import type { Sealer } from '@gatehouse/core/sealing';
import {
  isDue,
  PUBLISHED_BEFORE_SIGNING,
  rotateSigningKeys,
  secondsUntilDue,
  withoutRetired,
} from './key-rotation.ts';
import {
  type KeyRing,
  keyIn,
  loadSigningKeys,
  type SigningKeySet,
  type SigningKeyStore,
  versionOf,
} from './signing-keys.ts';

export type KeyRotationScheduler = {
  /** Loads the keys, makes missing ones and calls onChange. Rejects when that fails, as under another master key. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Looks for changes at once: a key has been rotated. */
  wake(): void;
  /** The keys that the service works with. Throws before start(). */
  current(): SigningKeySet;
  /** The age of the keys that sign, and when others will, for /metrics. */
  metrics(): MetricFamily[];
};

export type KeyRotationSchedulerOptions = {
  store: SigningKeyStore;
  sealer: Sealer;
  /** How long a key signs. */
  rotateEveryDays: number;
  /** How long a key stays published after it has stopped signing: the longest lifetime of tokens, and a margin. */
  previousForSeconds: number;
  /** How soon a rotation by another replica or from the command line is noticed. */
  checkEverySeconds?: number;
  /** Puts the keys to use; current() returns them once this has resolved. Called again after a failure. */
  onChange(keys: SigningKeySet): void | Promise<void>;
  /** A key was compromised. Called in every process, again after a restart, and until it succeeds. */
  onDropped(kid: string, droppedAt: Date): void | Promise<void>;
  logger: Logger;
};

/** Rotates the signing keys on schedule, and notices rotations by other replicas and from the command line. */
export function createKeyRotationScheduler(options: KeyRotationSchedulerOptions): KeyRotationScheduler {
  const { store, sealer, logger, checkEverySeconds = 5 } = options;
  const schedule = {
    minAgeSeconds: options.rotateEveryDays * 24 * 3600,
    minPublishedSeconds: PUBLISHED_BEFORE_SIGNING,
  };
  const reportedDrops = new Set<string>();
  let keys: SigningKeySet | undefined;
  /** The same as `keys`, or newer if onChange failed. */
  let loaded: SigningKeySet | undefined;
  let failing = false;

  const watch = createPeriodicTask({
    run: async () => {
      await check();
      failing = false;
    },
    everyMs: checkEverySeconds * 1000,
    immediately: true,
    onError: (error) => {
      // Only the first of many failures in a row: others report a database that is down, too.
      if (!failing) logger.warn({ err: error }, 'the signing keys could not be checked; trying again');
      failing = true;
    },
  });

  function current(): SigningKeySet {
    if (keys === undefined) throw new Error('The signing keys are not loaded yet.');
    return keys;
  }

  async function load(): Promise<void> {
    const latest = await loadSigningKeys(store, sealer);
    loaded = latest;
    await options.onChange(latest);
    keys = latest;
  }

  async function check(): Promise<void> {
    try {
      if (versionOf(await store.versions()) !== current().version) await load();
    } finally {
      await reportDropped();
    }
    if (await rotateWhatIsDue()) await load();
  }

  async function reportDropped(): Promise<void> {
    for (const { kid, droppedAt } of (loaded?.rings ?? []).flatMap(({ dropped }) => dropped)) {
      if (reportedDrops.has(kid)) continue;
      await options.onDropped(kid, droppedAt);
      reportedDrops.add(kid);
    }
  }

  /** Rotates and removes keys on schedule; returns whether that has changed the keys. */
  async function rotateWhatIsDue(): Promise<boolean> {
    const { rings } = current();
    const now = Date.now();
    const retiredBefore = new Date(now - options.previousForSeconds * 1000);
    let changed = false;
    for (const ring of rings) {
      const { algorithm } = ring;
      const left = withoutRetired(ring, retiredBefore);
      if (left !== undefined && (await store.replace(left))) changed = true;
      if (!isDue(ring, schedule, new Date(now))) continue;
      const { rotated } = await rotateSigningKeys(store, sealer, { ...schedule, algorithm });
      for (const { retired, current } of rotated) {
        logger.info({ algorithm, retired, current }, 'a signing key was rotated on schedule');
        changed = true;
      }
    }
    return changed;
  }

  return {
    current,
    async start() {
      await load();
      watch.start();
    },
    stop: watch.stop,
    wake: watch.wake,
    metrics() {
      const now = new Date();
      const gauge = (name: string, help: string, of: (ring: KeyRing) => number): MetricFamily => ({
        name,
        help,
        type: 'gauge',
        samples: (keys?.rings ?? []).map((ring) => ({
          labels: { algorithm: ring.algorithm },
          value: of(ring),
        })),
      });
      return [
        gauge(
          'gatehouse_signing_key_age_seconds',
          'How long the current key has been signing.',
          (ring) => (now.getTime() - (keyIn(ring, 'current').activatedAt ?? now).getTime()) / 1000,
        ),
        gauge(
          'gatehouse_signing_key_rotation_seconds',
          'The time until the current key is due for rotation; below 0 when it is overdue.',
          (ring) => secondsUntilDue(ring, schedule, now),
        ),
      ];
    },
  };
}
