import type { Revocations } from '../../core/revocations/revocations.ts';
import {
  grantIdOf,
  type IssuerChanges,
  type TrustedIssuer,
  type TrustedIssuerStore,
} from './trusted-issuer.ts';

/** How long the list is used without being read again. */
const CACHE_MS = 5000;
/** The changes that end nothing, except for switching it off. */
const HARMLESS: readonly string[] = [
  'enabled',
  'protected',
  'reusesTokens',
] satisfies (keyof IssuerChanges)[];

/** Trusted issuers, and how what rests on them ends. */
export type TrustedIssuers = {
  /** The one with this URL. May have been read some seconds ago, unless it was changed here. */
  find(url: string): Promise<TrustedIssuer | undefined>;
  /** Whether the tokens of the one with this URL authenticate applications. */
  isTrusted(url: string): Promise<boolean>;
  /** Whether tokens with this `gid` are in force; undefined for another kind of id. */
  isInForce(grantId: string): Promise<boolean | undefined>;
  /** Reads the list again at its next use. */
  forget(): void;
  /**
   * Ends the tokens that rest on it, unless the changes leave all of them. Durable when it resolves. Undefined if it was changed or removed
   * since it was read.
   */
  change(read: TrustedIssuer, changes: IssuerChanges): Promise<TrustedIssuer | undefined>;
  /** Ends all tokens that rest on it. Returns the issuer as it was, and undefined as `change` does. */
  remove(read: TrustedIssuer): Promise<TrustedIssuer | undefined>;
  /** Writes the revocations that a crash kept from being written. */
  resumeRevocations(): Promise<void>;
};

export function createTrustedIssuers(options: {
  store: TrustedIssuerStore;
  revocations: Pick<Revocations, 'write'>;
}): TrustedIssuers {
  const { store, revocations } = options;
  let cached: { byUrl: Promise<Map<string, TrustedIssuer>>; until: number } | undefined;

  const forget = () => {
    cached = undefined;
  };

  function load() {
    if (cached !== undefined && cached.until > Date.now()) return cached.byUrl;
    const byUrl = store.list().then((all) => new Map(all.map((it) => [it.issuer, it])));
    byUrl.catch(forget);
    cached = { byUrl, until: Date.now() + CACHE_MS };
    return byUrl;
  }

  /** Revokes the tokens of earlier generations. A replica that does not know yet issues only tokens that are revoked. */
  async function revoke({ id, generation, revokedBelow }: TrustedIssuer): Promise<void> {
    const due = Array.from({ length: generation - revokedBelow }, (_, i) => revokedBelow + i);
    if (due.length === 0) return;
    await revocations.write(due.map((it) => ({ kind: 'grant', id: grantIdOf({ id, generation: it }) })));
    await store.revoked(id, generation);
  }

  async function change(before: TrustedIssuer, changes: IssuerChanges): Promise<TrustedIssuer | undefined> {
    const ends = changes.enabled === false || Object.keys(changes).some((name) => !HARMLESS.includes(name));
    try {
      const changed = await store.change(before, changes, ends);
      if (changed !== undefined) await revoke(changed);
      return changed;
    } finally {
      forget();
    }
  }

  const find = async (url: string) => (await load()).get(url);

  return {
    find,
    async isTrusted(url) {
      const issuer = await find(url);
      return issuer !== undefined && authenticates(issuer);
    },
    async isInForce(grantId) {
      const [, id] = /^(iss_\w+)\.\d+$/.exec(grantId) ?? [];
      if (id === undefined) return undefined;
      const issuer = await store.find(id);
      return issuer !== undefined && authenticates(issuer) && grantIdOf(issuer) === grantId;
    },
    forget,
    change,
    async remove(before) {
      const ended = await change(before, { enabled: false });
      // Last: after a crash before that, it is still switched off, and can be deleted again.
      const isGone = ended !== undefined && (await store.remove(ended));
      forget();
      return isGone ? ended : undefined;
    },
    async resumeRevocations() {
      for (const issuer of await store.list()) await revoke(issuer);
    },
  };
}

/** Whether the tokens of an issuer authenticate applications. */
export const authenticates = ({ enabled, kinds }: Pick<TrustedIssuer, 'enabled' | 'kinds'>): boolean =>
  enabled && kinds.includes('workload');
