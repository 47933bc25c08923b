import type { Account } from '../../core/accounts/account.ts';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import type { Audit, Origin } from '../../core/audit/audit.ts';
import type { IdentityProvider } from '../../core/foundation/identity-provider.ts';
import type { Revocations } from '../../core/revocations/revocations.ts';
import type { SessionEnds } from '../../core/sessions/session-ends.ts';
import { accountConnected, accountDisconnected } from './connected-account-notices.ts';
import {
  connectionId,
  type LinkedIdentity,
  type LinkedIdentityStore,
  linkedIdentityId,
} from './linked-identity.ts';
import { isIssuerOf, type UpstreamIdentity } from './upstream-identity.ts';
import { beganWith } from './upstream-session.ts';

/** The identities at one provider by which people sign in. */
export type LinkedIdentities = {
  idOf(identity: UpstreamIdentity): string;
  find(identity: UpstreamIdentity): Promise<LinkedIdentity | undefined>;
  /** That of an account by which it can be signed in to: not one of an issuer that the provider had before. */
  of(userId: string): Promise<LinkedIdentity | undefined>;
  /** Records a use. Returns whether it is still linked to the account. */
  used(linked: LinkedIdentity, identity: UpstreamIdentity): Promise<boolean>;
  /**
   * Links it to an account, which is audited, and mailed unless the account is a new one. Returns false if it is linked to another
   * account, or the account has another one of this provider.
   */
  link(
    account: Pick<Account, 'id' | 'name'>,
    identity: UpstreamIdentity,
    by: { origin: Origin; isNewAccount?: boolean },
  ): Promise<boolean>;
  /** Notes the session at the provider in which it was used. */
  addSession(identity: UpstreamIdentity): Promise<void>;
  /**
   * Also ends the sessions that began with it; the one with the uid `keep` remains. Returns whether there was one, which is then
   * audited and mailed.
   */
  unlink(userId: string, origin: Origin, keep?: string): Promise<boolean>;
};

export function createLinkedIdentities(options: {
  provider: Pick<IdentityProvider, 'id' | 'label' | 'issuer'>;
  store: LinkedIdentityStore;
  sessionEnds: Pick<SessionEnds, 'endSignIns'>;
  revocations: Pick<Revocations, 'write'>;
  mails: Pick<AccountMails, 'notify'>;
  audit: Audit;
}): LinkedIdentities {
  const { provider, store, mails, audit } = options;
  const labelOf = ({ email, name }: UpstreamIdentity) => email ?? name ?? '';

  const ofProvider = async (userId: string) =>
    (await store.list(userId)).find((it) => it.provider === provider.id);
  const isUsable = (linked: LinkedIdentity | undefined) =>
    linked !== undefined && isIssuerOf(provider, linked.issuer);

  async function of(userId: string): Promise<LinkedIdentity | undefined> {
    const linked = await ofProvider(userId);
    return isUsable(linked) ? linked : undefined;
  }

  async function record(
    change: 'linked' | 'unlinked',
    userId: string,
    origin: Origin,
    { isMailed, removed }: { isMailed: boolean; removed?: string },
  ): Promise<void> {
    const details = { provider: provider.id };
    await audit.record({ action: `identity.${change}`, origin, subject: userId, details });
    if (!isMailed) return;
    const notice = change === 'linked' ? accountConnected : accountDisconnected;
    void mails.notify(userId, notice(provider.label, { at: new Date(), address: origin.address }, removed));
  }

  return {
    idOf: linkedIdentityId,
    find: (identity) => store.find(linkedIdentityId(identity)),
    of,
    used: (linked, identity) => store.used({ ...linked, label: labelOf(identity) }, new Date()),
    async link({ id: userId, name }, identity, { origin, isNewAccount = false }) {
      const now = new Date();
      const former = await ofProvider(userId);
      if (former !== undefined && !isUsable(former)) await store.remove(userId, former.id);
      const isLinked = await store.insert({
        ...{ id: linkedIdentityId(identity), userId, provider: provider.id },
        ...{ issuer: identity.issuer, subject: identity.subject, label: labelOf(identity) },
        ...{ createdAt: now, lastUsedAt: isNewAccount ? now : null },
        // The name of somebody who was here before is their own.
        ...{ name: isNewAccount ? name : null, picture: null },
      });
      if (isLinked) await record('linked', userId, origin, { isMailed: !isNewAccount });
      return isLinked;
    },
    async addSession(identity) {
      if (identity.sid !== undefined) await store.addSession(linkedIdentityId(identity), identity.sid);
    },
    async unlink(userId, origin, keep) {
      const linked = await of(userId);
      if (linked === undefined || !(await store.remove(userId, linked.id))) return false;
      await options.revocations.write([{ kind: 'grant', id: connectionId(linked) }]);
      const details = { provider: provider.id };
      const entry = { action: 'session.ended', origin, details } as const;
      await options.sessionEnds.endSignIns(userId, (it) => beganWith(it, linked), entry, keep);
      await record('unlinked', userId, origin, { isMailed: true, removed: linked.id });
      return true;
    },
  };
}
