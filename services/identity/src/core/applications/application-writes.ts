import type { Audit } from '../audit/audit.ts';
import type { RevocationEntry } from '../revocations/revocations.ts';
import {
  type AccompanyingChanges,
  type Application,
  type ApplicationChanges,
  type ApplicationStore,
  type DueRevocation,
  type ExchangeRule,
  MAX_APPLICATIONS,
} from './application.ts';
import type { ApplicationKeys } from './application-keys.ts';
import type { MemberStore } from './member.ts';

export type ApplicationWrites = {
  /**
   * Revokes the tokens with lower epochs, if there are any, and tells every replica to read the applications again. Durable
   * when it resolves. API keys, grants and members of ended applications end as well. Only then are the marks removed by which it would be resumed after a crash.
   */
  revoke(applications: readonly DueRevocation[]): Promise<void>;
  /** The same for marked applications, of an owner or of all. Returns how many there were; others may be left. */
  revokeWhatIsDue(owner?: string): Promise<number>;
  /**
   * Changes an application, and revokes what was issued to it if that permits more than it would now. With the trust in
   * it, its API keys end. Undefined when it has been changed or deleted since it was read.
   */
  change(
    before: Application,
    changes: ApplicationChanges & AccompanyingChanges,
  ): Promise<Application | undefined>;
};

export function createApplicationWrites(options: {
  store: ApplicationStore;
  keys: readonly Pick<ApplicationKeys, 'removeAll'>[];
  revocations: { write(entries: readonly RevocationEntry[]): Promise<void> };
  members: Pick<MemberStore, 'removeAllOf'>;
  /** Called when an application was deleted or has another owner. */
  extensions?: { applicationErasers: readonly ((clientId: string) => Promise<unknown>)[] };
  /** Ends every grant of an application, and what was about to become one. */
  endGrants(clientId: string): Promise<void>;
}): ApplicationWrites {
  const { store, keys, revocations } = options;
  const removeKeys = (id: string) => Promise.all(keys.map((kind) => kind.removeAll(id)));

  async function revoke(applications: readonly DueRevocation[]): Promise<void> {
    await revocations.write(
      applications.map(({ application: { id, epoch } }) => ({ kind: 'client', id, epoch })),
    );
    await Promise.all(
      applications.map(async ({ application: { id, epoch }, over }) => {
        // Before its grants: nobody hears of their end any more.
        if (over) for (const erase of options.extensions?.applicationErasers ?? []) await erase(id);
        if (over) await Promise.all([removeKeys(id), options.endGrants(id), options.members.removeAllOf(id)]);
        await store.revocationWritten(id, epoch);
      }),
    );
  }

  return {
    revoke,
    async revokeWhatIsDue(owner) {
      const due = await store.awaitingRevocation(owner);
      if (due.length > 0) await revoke(due);
      return due.length;
    },
    async change(before, requested) {
      const changes = withNotedKeys(requested, before);
      const next = { ...before, ...changes };
      // Before the trust: after a crash in between, it still is to be ended.
      if (before.trusted && !next.trusted) await removeKeys(before.id);
      const changed = await store.change(before, changes, isLess(next, before));
      if (changed !== undefined) await revoke([{ application: changed, over: false }]);
      return changed;
    },
  };
}

/** Keys that were fetched stay noted when the same URL is set again, and so does what rests on them. */
export function withNotedKeys<C extends ApplicationChanges>(changes: C, { jwks }: Application): C {
  return jwks?.uri !== undefined && changes.jwks?.uri === jwks.uri ? { ...changes, jwks } : changes;
}

/** Whether tokens that were issued before carry more than new ones would. */
function isLess(next: Application, before: Application): boolean {
  return (
    before.scopes.some((scope) => !next.scopes.includes(scope)) ||
    (before.trusted && !next.trusted) ||
    (!before.dpopBound && next.dpopBound) ||
    before.tokenExchange.some((rule) => !isCovered(rule, next.tokenExchange))
  );
}

function isCovered({ resource, scopes }: ExchangeRule, rules: readonly ExchangeRule[]): boolean {
  const rule = rules.find((it) => it.resource === resource);
  return rule !== undefined && scopes.every((scope) => rule.scopes.includes(scope));
}

/**
 * Deletes all applications of a person whose account is deleted, with their secrets, API keys and grants. Repeated after it
 * was broken off, it goes on where it was.
 */
export function createRemoval(options: {
  store: Pick<ApplicationStore, 'list' | 'markDeleted'>;
  writes: Pick<ApplicationWrites, 'revoke' | 'revokeWhatIsDue'>;
  audit: Pick<Audit, 'record'>;
}): (owner: string) => Promise<void> {
  const { store, writes, audit } = options;
  return async (owner) => {
    // One page: nobody owns more.
    for (const { id: client } of await store.list({ owner, after: undefined, limit: MAX_APPLICATIONS })) {
      const deleted = await store.markDeleted(client, { owner });
      // Somebody else has got it meanwhile.
      if (deleted === undefined) continue;
      const cause = { cause: 'owner' };
      await audit.record({ action: 'application.deleted', client, subject: owner, details: cause });
      await writes.revoke([{ application: deleted, over: true }]);
    }
    while ((await writes.revokeWhatIsDue(owner)) > 0);
  };
}
