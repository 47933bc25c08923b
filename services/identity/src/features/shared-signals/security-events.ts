import { AsyncLocalStorage } from 'node:async_hooks';
import { timeOfId } from '@gatehouse/core/ids';
import type { AuditAction } from '@gatehouse/domain/audit-actions';
import { isRole } from '@gatehouse/tokens/scopes';
import type { AccountCache } from '../../core/accounts/account-cache.ts';
import type { Application, ApplicationStore } from '../../core/applications/application.ts';
import { ownerPermissions, roleIn } from '../../core/applications/ownership.ts';
import type { AuditRecord } from '../../core/audit/audit.ts';
import type { ReportedChange } from '../../core/extensions.ts';
import type { EndingGrant, OidcStore } from '../../core/oidc/adapter/oidc-adapter.ts';
import { isOfConsentEpoch } from '../../core/oidc/epochs/consent-epochs.ts';
import type { EventQueue, NewEvent } from './event-queue.ts';
import type { EventStreamStore } from './event-stream-store.ts';
import {
  ACCOUNT_DISABLED,
  ACCOUNT_PURGED,
  CREDENTIAL_CHANGE,
  SESSION_REVOKED,
  TOKEN_CLAIMS_CHANGE,
} from './event-types.ts';
import type { StreamRight } from './stream-right.ts';

/** The known circumstances of an event (CAEP 1.0 §2). */
type Circumstances = { txn?: string; payload: Record<string, unknown> };
type Payload = Record<string, unknown> | undefined;
type Happening = {
  accountId: string;
  type: string;
  cause: string;
  /** For an application; undefined if it does not concern that. */
  payloadFor(application: Application): Payload | Promise<Payload>;
  circumstances: Circumstances;
};

/** A page ends sessions by itself, before users reports the change. */
const RECENT_MS = 60_000;
const EVER = new Date(0);
const ALL_EPOCHS = Number.MAX_SAFE_INTEGER;
const OTHER_REASON = 'The account was changed.';
const REASONS: Readonly<Record<string, string>> = {
  password: 'The password was changed.',
  role: 'The role was changed.',
  status: 'The account was deactivated.',
  revoked: 'All access was revoked.',
  deleted: 'The account was deleted.',
  'passkey.added': 'A passkey was added.',
  'passkey.removed': 'A passkey was removed.',
  'authenticator_app.added': 'An authenticator app was added.',
  'authenticator_app.removed': 'The authenticator app was removed.',
};
/** CAEP 1.0 §3.3.1. */
const CREDENTIALS: Partial<Record<AuditAction, Record<string, string>>> = {
  'passkey.added': { credential_type: 'fido2-platform', change_type: 'create' },
  'passkey.removed': { credential_type: 'fido2-platform', change_type: 'delete' },
  'authenticator_app.added': { credential_type: 'app', change_type: 'create' },
  'authenticator_app.removed': { credential_type: 'app', change_type: 'delete' },
};

/** Stores events for the streams of the applications that they concern. */
export function createSecurityEvents(options: {
  streams: EventStreamStore;
  events: Pick<EventQueue, 'add'>;
  right: Pick<StreamRight, 'applicationOf'>;
  store: Pick<OidcStore, 'grantsOf' | 'endGrantsBelow'>;
  applicationStore: Pick<ApplicationStore, 'findById'>;
  accountCache: Pick<AccountCache, 'find'>;
}) {
  const { streams, events, right, store, applicationStore } = options;
  const causes = new AsyncLocalStorage<Circumstances>();

  /** The applications with a grant of the person, and those that have heard of the person since the time. */
  async function clientsOf(accountId: string, since: Date): Promise<string[]> {
    const clients = new Set(await streams.knownBy(accountId, since));
    for await (const { payload } of store.grantsOf(accountId)) {
      const application = await applicationStore.findById(String(payload.clientId));
      if (application !== undefined && isOfConsentEpoch(payload, application.consentEpoch))
        clients.add(application.id);
    }
    return [...clients];
  }

  async function tell(clients: readonly string[], happening: Happening): Promise<void> {
    const { accountId, type, cause, payloadFor, circumstances } = happening;
    const added: NewEvent[] = [];
    for (const stream of await streams.ofClients(clients)) {
      if (stream.status === 'disabled' || !stream.eventsRequested.includes(type)) continue;
      const application = await right.applicationOf(stream);
      if (application === undefined || (await streams.isRemoved(stream.clientId, accountId))) continue;
      const own = await payloadFor(application);
      if (own === undefined) continue;
      const payload = { ...own, ...circumstances.payload };
      added.push({ stream, cause, accountId, type, payload, txn: circumstances.txn });
    }
    await events.add(added);
    for (const { stream } of added) await streams.know(stream.clientId, accountId);
  }

  return {
    /** Stores the events of a change, then lets it end what it ends. */
    async accountChanged(change: ReportedChange, proceed: () => Promise<void>): Promise<void> {
      const { id, user_id: accountId, by } = change;
      const circumstances = circumstancesOf(
        { id, at: timeOfId(id), subject: accountId, actor: by === undefined ? accountId : by.user_id },
        change.reason,
      );
      const happening = eventOf(change, circumstances, options.accountCache.find);
      if (happening !== undefined) {
        const since = change.reason === 'deleted' ? EVER : new Date(timeOfId(id).getTime() - RECENT_MS);
        await tell(await clientsOf(accountId, since), happening);
      }
      await causes.run(circumstances, proceed);
    },

    async grantEnds({ id, accountId, clientId, payload }: EndingGrant): Promise<void> {
      const stream = await streams.findOf(clientId);
      if (stream === undefined || !isOfConsentEpoch(payload, stream.consentEpoch)) return;
      await streams.know(clientId, accountId);
      const circumstances =
        causes.getStore() ?? endedNow('The access was ended by a sign-out or a revocation.');
      const happening = { accountId, type: SESSION_REVOKED, cause: id, circumstances };
      await tell([clientId], { ...happening, payloadFor: () => ({}) });
    },

    async recorded({ id, action, subject, actor, at }: AuditRecord): Promise<void> {
      const payload = CREDENTIALS[action];
      if (payload === undefined || subject === undefined) return;
      const circumstances = circumstancesOf({ id, at, subject, actor: actor ?? null }, action);
      const happening = { accountId: subject, type: CREDENTIAL_CHANGE, cause: id, circumstances };
      const clients = await clientsOf(subject, new Date(at.getTime() - RECENT_MS));
      await tell(clients, { ...happening, payloadFor: () => payload });
    },

    /** The data of a deleted person end: with the grants, which are announced, and all that is known of the person here. */
    async erase(accountId: string): Promise<void> {
      const circumstances = endedNow(REASONS.deleted);
      await tell(await clientsOf(accountId, EVER), purged(accountId, circumstances));
      await causes.run(circumstances, () => store.endGrantsBelow(accountId, ALL_EPOCHS));
      await streams.forgetPerson(accountId);
    },
  };
}

const purged = (accountId: string, circumstances: Circumstances): Happening => ({
  ...{ accountId, type: ACCOUNT_PURGED, cause: accountId, circumstances },
  payloadFor: () => ({}),
});

/** The event of a change that users reports; undefined for a change that has none. */
function eventOf(
  change: ReportedChange,
  circumstances: Circumstances,
  findOwner: AccountCache['find'],
): Happening | undefined {
  const { id: cause, user_id: accountId, reason, details = {} } = change;
  const of = { accountId, cause, circumstances };
  switch (reason) {
    case 'password': {
      const payload = { credential_type: 'password', change_type: 'update' };
      return { ...of, type: CREDENTIAL_CHANGE, payloadFor: () => payload };
    }
    case 'role':
      return { ...of, type: TOKEN_CLAIMS_CHANGE, payloadFor: (it) => rolesIn(it, details, findOwner) };
    case 'status':
      return details.to === 'inactive'
        ? { ...of, type: ACCOUNT_DISABLED, payloadFor: () => ({}) }
        : undefined;
    case 'deleted':
      return purged(accountId, circumstances);
    default:
      return undefined;
  }
}

/** The role as the tokens of the application have it. */
async function rolesIn(
  application: Application,
  { from, to }: Record<string, unknown>,
  findOwner: AccountCache['find'],
): Promise<Payload> {
  const owner = await ownerPermissions(application, findOwner);
  const [before, now] = [from, to].map((role) => (isRole(role) ? roleIn(owner, { role }) : undefined));
  return before === now ? undefined : { claims: { roles: [now] } };
}

const secondsOf = (time: Date) => Math.floor(time.getTime() / 1000);

const endedNow = (reason = OTHER_REASON): Circumstances => ({
  payload: { event_timestamp: secondsOf(new Date()), reason_admin: { en: reason } },
});

/** The ID of the cause is its `txn`: a caller chooses the ID of a request, and could repeat it. */
function circumstancesOf(
  { id: txn, at, subject, actor }: { id: string; at: Date; subject: string; actor: string | null },
  reason: string,
): Circumstances {
  const initiating_entity = actor === subject ? 'user' : actor === null ? 'system' : 'admin';
  const reason_admin = { en: REASONS[reason] ?? OTHER_REASON };
  return { txn, payload: { event_timestamp: secondsOf(at), initiating_entity, reason_admin } };
}
