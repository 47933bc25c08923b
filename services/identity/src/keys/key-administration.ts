import { invalidFields } from '@gatehouse/api/http/schema';
import { type FieldProblem, ServiceError } from '@gatehouse/core/errors';
import type { Sealer } from '@gatehouse/core/sealing';
import type { Audit, Origin } from '../core/audit/audit.ts';
import type { SigningAlgorithm } from '../core/tokens/signing-algorithms.ts';
import { isDue, PUBLISHED_BEFORE_SIGNING, rotateSigningKeys } from './key-rotation.ts';
import { type KeyRing, type KeyState, keyIn, type SigningKeyStore } from './signing-keys.ts';

/** A signing key as admins see it, without the key itself. One that was dropped after a compromise is `retired`. */
export type ListedKey = {
  kid: string;
  algorithm: SigningAlgorithm;
  state: KeyState | 'retired';
  /** Null for a dropped key. */
  createdAt: Date | null;
  activatedAt: Date | null;
  /** When it stopped signing, or was dropped. */
  retiredAt: Date | null;
};

export type KeyAdministration = {
  /** All keys that are published or were dropped recently, by algorithm, the newest first. */
  list(): Promise<ListedKey[]>;
  /**
   * Replaces current keys, named by their kids, by the next ones. A key that has been replaced already is left alone, so
   * that a repeated request rotates nothing. Throws `invalid` for what is not and was not a current key, and, unless
   * forced, `conflict` while verifiers outside may not know the next key yet. After a compromise, all keys of their
   * algorithms are dropped, with what they have signed, and replaced by new ones.
   */
  rotate(
    kids: readonly string[],
    options: { force: boolean; compromised?: boolean; by: string; origin: Origin },
  ): Promise<void>;
};

/** The administration of the signing keys while the service runs. */
export function createKeyAdministration(options: {
  store: SigningKeyStore;
  sealer: Sealer;
  audit: Pick<Audit, 'record'>;
  /** A key has been rotated. */
  onRotated(): void;
}): KeyAdministration {
  const { store, sealer, audit, onRotated } = options;
  return {
    list: async () => (await store.all()).flatMap(keysOf).sort(byAlgorithmAndAge),

    async rotate(kids, { force, compromised = false, by, origin }) {
      const rings = await store.all();
      const keys = rings.flatMap(keysOf);
      const problems = kids.flatMap((kid, i): FieldProblem[] => {
        const state = keys.find((key) => key.kid === kid)?.state;
        if (state === undefined) return [{ field: `kids.${i}`, message: 'is not a signing key' }];
        return state === 'next' ? [{ field: `kids.${i}`, message: 'does not sign yet' }] : [];
      });
      if (problems.length > 0) throw invalidFields(problems);
      const schedule = { minPublishedSeconds: force || compromised ? 0 : PUBLISHED_BEFORE_SIGNING };
      const concerned = rings.filter((ring) => kids.includes(keyIn(ring, 'current').kid));
      for (const ring of concerned) if (!isDue(ring, schedule, new Date())) throw tooEarly(ring);
      for (const { algorithm, ...ring } of concerned) {
        const replaces = keyIn({ algorithm, ...ring }, 'current').kid;
        const chosen = { ...schedule, algorithm, replaces, compromised };
        const { rotated } = await rotateSigningKeys(store, sealer, chosen);
        for (const { retired, current, dropped } of rotated) {
          const details = { algorithm, retired, current, ...(compromised ? { dropped } : {}) };
          await audit.record({ action: 'keys.rotated', origin, actor: by, details });
        }
      }
      if (concerned.length > 0) onRotated();
    },
  };
}

function keysOf({ algorithm, keys, dropped }: KeyRing): ListedKey[] {
  const retired = dropped.map(({ kid, droppedAt }): ListedKey => {
    return { kid, algorithm, state: 'retired', createdAt: null, activatedAt: null, retiredAt: droppedAt };
  });
  const published = keys.map(({ kid, state, createdAt, activatedAt, retiredAt }): ListedKey => {
    return { kid, algorithm, state, createdAt, activatedAt, retiredAt };
  });
  return [...published, ...retired];
}

const ORDER: readonly ListedKey['state'][] = ['next', 'current', 'previous', 'retired'];

/** Ids of keys sort by their age. */
function byAlgorithmAndAge(a: ListedKey, b: ListedKey): number {
  const byAlgorithm = a.algorithm < b.algorithm ? -1 : Number(a.algorithm > b.algorithm);
  return byAlgorithm || ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || (a.kid < b.kid ? 1 : -1);
}

function tooEarly(ring: KeyRing): ServiceError {
  const age = Math.floor((Date.now() - keyIn(ring, 'next').createdAt.getTime()) / 1000);
  const wait = PUBLISHED_BEFORE_SIGNING - age;
  return new ServiceError(
    'conflict',
    `The next ${ring.algorithm} key was published ${age} s ago, and not every verifier knows it yet: try again in ` +
      `${wait} s, or force it.`,
    { headers: { 'retry-after': String(wait) } },
  );
}
