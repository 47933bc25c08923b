import type { Logger } from '@gatehouse/kit/logger';
import type { Sealer } from '@gatehouse/kit/sealing';
import { isDue, PUBLISHED_BEFORE_SIGNING, rotateSigningKeys, withoutRetired } from './key-rotation.ts';
import { loadSigningKeys, type SigningKeySet, type SigningKeyStore, versionOf } from './signing-keys.ts';

export type KeyKeeper = {
  /**
   * Loads the keys, makes what is missing and calls onChange for the first time. Rejects when that fails, and when
   * the stored keys were sealed under another master key.
   */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** The keys that the service works with. Throws before start(). */
  current(): SigningKeySet;
};

export type KeyKeeperOptions = {
  store: SigningKeyStore;
  sealer: Sealer;
  /** How long a key signs. */
  rotateEveryDays: number;
  /** How long a key is published after it has signed for the last time: as long as any token lives, and a margin. */
  previousForSeconds: number;
  /** How soon changes by other replicas, or from the command line, are noticed. */
  checkEverySeconds?: number;
  /** Takes the keys into use; they are current() when it has resolved. When it fails it is called again. */
  onChange(keys: SigningKeySet): void | Promise<void>;
  /**
   * A compromised key: no token that it has signed counts any more. Called in each process, again after a restart,
   * and until it succeeds.
   */
  onDropped(kid: string, droppedAt: Date): void | Promise<void>;
  logger: Logger;
};

/** Rotates the signing keys on schedule, and notices what other replicas and people do with them. */
export function createKeyKeeper(options: KeyKeeperOptions): KeyKeeper {
  const { store, sealer, logger, checkEverySeconds = 2 } = options;
  const schedule = {
    minAgeSeconds: options.rotateEveryDays * 24 * 3600,
    minPublishedSeconds: PUBLISHED_BEFORE_SIGNING,
  };
  const told = new Set<string>();
  let keys: SigningKeySet | undefined;
  /** As `keys`, or newer where onChange failed. */
  let loaded: SigningKeySet | undefined;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let stopped = false;
  let failing = false;

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
      await tellDropped();
    }
    if (await maintain()) await load();
  }

  async function tellDropped(): Promise<void> {
    for (const { kid, droppedAt } of (loaded?.rings ?? []).flatMap(({ dropped }) => dropped)) {
      if (told.has(kid)) continue;
      await options.onDropped(kid, droppedAt);
      told.add(kid);
    }
  }

  /** Does what is due; true when that has changed the keys. */
  async function maintain(): Promise<boolean> {
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

  function scheduleCheck(seconds: number): void {
    if (stopped) return;
    timer = setTimeout(() => {
      running = check()
        .then(
          () => {
            failing = false;
          },
          (error: unknown) => {
            // One line for many failures in a row: a database that is away is reported by others, too.
            if (!failing)
              logger.warn({ err: error }, 'the signing keys could not be looked after; trying again');
            failing = true;
          },
        )
        .then(() => scheduleCheck(checkEverySeconds));
    }, seconds * 1000);
    timer.unref();
  }

  return {
    current,
    async start() {
      await load();
      scheduleCheck(0);
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
