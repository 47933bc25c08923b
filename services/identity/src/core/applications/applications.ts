import { isDeepStrictEqual } from 'node:util';
import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import type { AuditAction } from '@gatehouse/domain/audit-actions';
import type { ListSource } from '@gatehouse/domain/list-query';
import { narrowList } from '@gatehouse/domain/narrow-list';
import type { Role } from '@gatehouse/tokens/scopes';
import type { AccountMails } from '../accounts/account-mails.ts';
import type { Audit } from '../audit/audit.ts';
import type { ApplicationRole } from '../authority/application-role.ts';
import { type Authority, givenByOwner } from '../authority/authority.ts';
import type { Given } from '../authority/given.ts';
import { createLastUsedRecorder } from '../last-used.ts';
import {
  type Application,
  type ApplicationChanges,
  type ApplicationField,
  type ApplicationStore,
  type ApplicationType,
  type ClientSecret,
  findSecret,
  isConfidential,
  liveSecrets,
  MAX_APPLICATIONS,
  MAX_SECRETS,
  makeSecret,
  mayHaveApiKeys,
  newApplication,
  publicKeysId,
} from './application.ts';
import { applicationChanged } from './application-changed-notice.ts';
import type { ApplicationKeys } from './application-keys.ts';
import { nameProblems, scopeProblems, settingsProblems } from './application-rules.ts';
import { type ApplicationWrites, retried } from './application-writes.ts';
import { requireDeveloperChanges, settingsOfOwner } from './changed-by.ts';
import type { MemberStore } from './member.ts';
import type { NewCredential } from './new-credential-notice.ts';
import {
  type FindOwner,
  findManaged,
  giverNeeded,
  lowerRole,
  type Manager,
  ownerPermissions,
  recordBy,
  roleIn,
} from './ownership.ts';
import { originsOf } from './redirect-uris.ts';
import { withRequired } from './security-profile.ts';
import { createTrusts, onlyAdminsTrust } from './trust.ts';

/** Tells the owner of an application what it has been given, and by whom if it was not the owner. Never rejects. */
export type NotifyCredential = (
  application: Pick<Application, 'owner' | 'name'>,
  credential: NewCredential,
  maker?: Pick<Manager, 'id'>,
) => void;

/** The dependencies of managing applications. */
export type ApplicationDependencies = {
  store: ApplicationStore;
  members: Pick<MemberStore, 'ofPerson' | 'of' | 'setGiven' | 'remove'>;
  authority: Authority;
  /** Finds any application, also one that nobody has registered here. */
  find(id: string, requester?: string): Promise<Application | undefined>;
  writes: ApplicationWrites;
  /** The credentials that applications have beside their secrets. */
  keys: readonly Pick<ApplicationKeys, 'hasAny' | 'removeAll' | 'removeEnded' | 'changeGivers'>[];
  accounts: { find: FindOwner };
  audit: Pick<Audit, 'record'>;
  notifyCredential: NotifyCredential;
  mails: Pick<AccountMails, 'notify'>;
};

export type ApplicationDraft = { name: string; type: ApplicationType; scopes: string[] } & ApplicationChanges;

/** A secret with its text, which is shown only once. */
export type NewSecret = ClientSecret & { secret: string };

export type Applications = {
  /** `secret` is set for confidential applications without keys of their own. */
  create(manager: Manager, draft: ApplicationDraft): Promise<{ application: Application; secret?: string }>;
  /** The manager's own, without those of others, or all for admins; `next` is the id to go on after. */
  list(
    manager: Manager,
    page: { after: string | undefined; limit: number },
  ): Promise<{ applications: Application[]; next: string | undefined }>;
  /** The same as a list with filters. */
  source(manager: Manager): ListSource<ApplicationField, Application>;
  /**
   * Any application; may have been read some seconds ago. `requester` is the address of somebody who is asked to sign in to it, or to
   * allow it: for them, one that describes itself is looked up (see ApplicationSource).
   */
  find(id: string, requester?: string): Promise<Application | undefined>;
  /** Throws `forbidden` for a member with a lower role than `needed`, by default a viewer. */
  read(manager: Manager, id: string, needed?: ApplicationRole): Promise<Application>;
  change(manager: Manager, id: string, changes: ApplicationChanges): Promise<Application>;
  remove(manager: Manager, id: string): Promise<void>;
  /** Throws `conflict` when there are two already. `expiresIn` is in seconds; by default it never expires. */
  addSecret(
    manager: Manager,
    id: string,
    options: { expiresIn: number | undefined; label: string | undefined },
  ): Promise<NewSecret>;
  listSecrets(manager: Manager, id: string): Promise<ClientSecret[]>;
  /** May remove the last one: then the application cannot authenticate until it is given another. */
  removeSecret(manager: Manager, id: string, secretId: string): Promise<void>;
  /** Finds the live secret with this text, unless its authority has ended; records the use and the address. */
  checkSecret(id: string, secret: string, address?: string): Promise<ClientSecret | undefined>;
  /** Records the use of a secret, and the address from which it was used. */
  secretUsed(id: string, secretId: string, address?: string): void;
  /** Records that the application was given tokens. */
  used(id: string, address: string): void;
  /** The role that a person has in an application, which may be less than their own. */
  roleIn(id: string, person: { role: Role }): Promise<Role>;
  /** The origins of an application's pages. */
  originsOf(id: string): Promise<string[]>;
  /** A person's applications. */
  ownedBy(userId: string): Promise<Application[]>;
  /** The ids of a person's applications, and of those that the person is a member of. */
  visibleTo(userId: string): Promise<string[]>;
  /**
   * Revokes the tokens of a person's applications, except of those that stay trusted, that were issued before this epoch of
   * the person's account: the trust ends that no longer rests on the person, as an owner or as the admin who granted it. Removes what the person has given and cannot give any more, also in applications of others. Durable when
   * it resolves. Repeated after it was broken off, it goes on where it was.
   */
  giverChanged(person: string, epoch: number): Promise<void>;
  /** Removes the credentials and members of an application that have ended, and their tokens. Durable when it resolves. */
  removeEnded(id: string): Promise<void>;
  /** Changes who gave the credentials and members of an application that have these ids. */
  changeGivers(
    id: string,
    ids: ReadonlySet<string>,
    change: (given: Given | undefined) => Given,
  ): Promise<void>;
  /** Writes the revocations that a crash kept from being written. */
  resumeRevocations(): Promise<void>;
};

/** The use cases of applications and their secrets. */
export function createApplications(options: ApplicationDependencies): Applications {
  const { store, members, accounts, audit, authority, writes } = options;
  const trusts = createTrusts({ ...options, writes });
  const recordUse = createLastUsedRecorder(store.used);
  const recordSecretUse = createLastUsedRecorder((ids, use) => {
    const [id = '', secretId = ''] = ids.split(' ');
    return store.secretUsed(id, secretId, use);
  });
  const secretUsed: Applications['secretUsed'] = (id, secretId, address) =>
    recordSecretUse(`${id} ${secretId}`, address);

  const record = (manager: Manager, action: AuditAction, client: string, details: object = {}) =>
    recordBy(manager, audit, { action, client, details });

  /** Throws `invalid`, `forbidden` or `conflict` unless an application may become like this. */
  async function check(manager: Manager, next: Application, before: Application | undefined): Promise<void> {
    const trustChanges = next.trusted !== (before?.trusted ?? false);
    if (trustChanges && manager.role !== 'admin') throw onlyAdminsTrust();
    const problems = settingsProblems(next);
    if (before === undefined || next.scopes !== before.scopes) {
      // It may keep what it has, such as what an admin gave to a trusted one.
      const allowed = [...(await grantable(manager, next)), ...(before?.scopes ?? [])];
      problems.push(...scopeProblems(next.scopes, { type: next.type, allowed }));
    }
    if (problems.length > 0) throw invalidFields(problems);
    if (before !== undefined && mayHaveApiKeys(before) && !mayHaveApiKeys(next)) {
      const message = 'Revoke the API keys of the application first: they would work without a proof.';
      for (const keys of options.keys) {
        if (await keys.hasAny(next.id)) throw new ServiceError('conflict', message);
      }
    }
  }

  // One page: nobody owns more.
  const ownedBy = (owner: string) => store.list({ owner, after: undefined, limit: MAX_APPLICATIONS });

  /** The ids of the applications that a person is a member of. */
  async function joinedBy(userId: string): Promise<string[]> {
    const memberships = await members.ofPerson(userId);
    const accepted = await Promise.all(memberships.map(authority.hasAccepted));
    return memberships.filter((_, i) => accepted[i]).map(({ clientId }) => clientId);
  }

  /** The scopes that the manager may give to the application: only an admin may give any to a trusted one. */
  async function grantable(manager: Manager, application: Application): Promise<readonly string[]> {
    if (application.trusted && manager.role !== 'admin') return [];
    const { within } = await ownerPermissions(application, accounts.find);
    return within(application.scopes);
  }

  /**
   * An application whose trust has just been granted, as it is now: the owner or the admin may have changed meanwhile, when nobody
   * saw yet that it rests on them.
   */
  async function settled(application: Application): Promise<Application> {
    await trusts.endIfUnsupported(application.id);
    return (await store.findNow(application.id)) ?? application;
  }

  /** Whether a credential of an application still holds. */
  async function holds(
    kind: 'client_secret' | 'public_keys' | 'member',
    application: Application,
    given: Given | undefined = givenByOwner(application),
  ): Promise<boolean> {
    return given === undefined || (await authority.giverOf(kind, given, application)) !== undefined;
  }

  /** The same application without the secrets and public keys that have ended. */
  async function withoutEnded(
    application: Application,
  ): Promise<Pick<Application, 'secrets' | 'jwks' | 'jwksGiven'>> {
    const { jwks, jwksGiven } = application;
    const held = await Promise.all(
      application.secrets.map((it) => holds('client_secret', application, it.given)),
    );
    const secrets = application.secrets.filter((_, i) => held[i]);
    const keeps = jwks === undefined || (await holds('public_keys', application, jwksGiven));
    return keeps ? { secrets, jwks, jwksGiven } : { secrets, jwks: undefined, jwksGiven: undefined };
  }

  async function removeEnded(id: string, { endTokens = false } = {}): Promise<void> {
    let isChanged = false;
    const application = await retried(async () => {
      const before = await store.findNow(id);
      if (before === undefined) return false;
      const held = await withoutEnded(before);
      isChanged = endTokens || held.secrets.length < before.secrets.length || held.jwks !== before.jwks;
      return isChanged ? store.change(before, held, true) : before;
    });
    if (application === false) return;
    for (const kind of options.keys) await kind.removeEnded(application);
    for (const { userId, given } of await members.of(id)) {
      if (await holds('member', application, given)) continue;
      isChanged = true;
      await members.remove(id, userId);
    }
    // Makes the other services ask again which applications people see.
    if (isChanged) await writes.revoke([{ application, over: false }]);
  }

  return {
    async create(manager, wanted) {
      const draft = withRequired(wanted, wanted.type);
      const given = await authority.give('client_secret', manager);
      const { secret, ...stored } = makeSecret({ given });
      const withSecret = isConfidential(draft) && draft.jwks === undefined;
      const jwksGiven = draft.jwks && (await authority.give('public_keys', manager));
      const plain = newApplication(
        { ...draft, ...omitUndefined({ jwksGiven }), id: newId('app'), owner: manager.id },
        withSecret ? stored : undefined,
      );
      await check(manager, plain, undefined);
      const trust = plain.trusted ? await trusts.grantedBy(manager, plain) : undefined;
      const made = { ...plain, trust };
      if (!(await store.insert(made))) {
        throw new ServiceError('conflict', `You already have ${MAX_APPLICATIONS} applications.`);
      }
      const application = trust === undefined ? made : await settled(made);
      if (withSecret) options.notifyCredential(application, { what: 'a client secret' });
      if (application.jwks !== undefined) options.notifyCredential(application, { what: 'public keys' });
      const { type, scopes, trusted } = application;
      await record(manager, 'application.created', application.id, { type, scopes, trusted });
      return { application, ...(withSecret ? { secret } : {}) };
    },

    async list(manager, { after, limit }) {
      const found = await store.list({
        owner: manager.role === 'admin' ? undefined : manager.id,
        after,
        // One more shows whether there is a next page.
        limit: limit + 1,
      });
      const applications = found.slice(0, limit);
      return { applications, next: found.length > limit ? applications.at(-1)?.id : undefined };
    },

    source({ id, role }) {
      if (role === 'admin') return store.source;
      // Also where another owner is asked for: then both conditions have to be met.
      return narrowList(store.source, async (conditions) => {
        const joined = await joinedBy(id);
        if (joined.length === 0) return [{ field: 'owner', operator: 'eq', values: [id] }, ...conditions];
        const owned = (await ownedBy(id)).map((it) => it.id);
        return [{ field: 'id', operator: 'in', values: [...owned, ...joined] }, ...conditions];
      });
    },

    find: options.find,

    read: (manager, id, needed = 'viewer') => findManaged(options, manager, id, needed),

    async change(manager, id, wanted) {
      return retried(async () => {
        const before = await findManaged(options, manager, id, 'developer');
        const changes = withRequired(wanted, before.type);
        const next = { ...before, ...changes };
        if ((await authority.roleOf(before, manager)) !== 'owner') requireDeveloperChanges(before, changes);
        await check(manager, next, before);
        const isAsked = changes.trusted === true || 'scopes' in changes;
        const grants = next.trusted && manager.role === 'admin' && isAsked;
        const trust = grants ? { trust: await trusts.grantedBy(manager, next) } : {};
        // A person who sends the same keys again does not become their giver.
        const isSame = isDeepStrictEqual(changes.jwks, before.jwks);
        const jwksGiven = isSame
          ? before.jwksGiven
          : changes.jwks && (await authority.give('public_keys', manager, before));
        const changed = await writes.change(before, {
          ...changes,
          ...trust,
          ...('jwks' in changes ? { jwksGiven } : {}),
          // The client cannot give itself again what is removed here.
          ...(changes.scopes && before.registrableScopes ? { registrableScopes: changes.scopes } : {}),
        });
        if (changed === undefined) return undefined;
        const application = grants ? await settled(changed) : changed;
        if (changes.jwks !== undefined) options.notifyCredential(changed, { what: 'public keys' }, manager);
        const isOfOther = before.owner !== manager.id;
        if (
          before.owner !== null &&
          isOfOther &&
          settingsOfOwner(before, changes).some((it) => it !== 'jwks')
        )
          void options.mails.notify(before.owner, applicationChanged(changed));
        await record(manager, 'application.changed', id, {
          fields: Object.keys(changes),
          ...omitUndefined({ scopes: changes.scopes, trusted: changes.trusted }),
        });
        return application;
      });
    },

    async remove(manager, id) {
      await findManaged(options, manager, id, 'owner');
      const deleted = await store.markDeleted(id);
      if (deleted !== undefined) await writes.revoke([{ application: deleted, over: true }]);
      await record(manager, 'application.deleted', id);
    },

    async addSecret(manager, id, { expiresIn, label }) {
      const problems =
        label === undefined ? [] : nameProblems(label).map((it) => ({ ...it, field: 'label' }));
      if (problems.length > 0) throw invalidFields(problems);
      const application = await findManaged(options, manager, id, 'developer');
      if (!isConfidential(application)) {
        throw new ServiceError('invalid', `An application of type ${application.type} cannot keep a secret.`);
      }
      const given = await authority.give('client_secret', manager, application);
      const { secret, ...added } = makeSecret({ expiresIn, label, given });
      const done = await store.addSecret(application, added);
      if (done === undefined) throw new ServiceError('not_found', 'There is no such application.');
      if (!done) {
        throw new ServiceError(
          'conflict',
          `The application already has ${MAX_SECRETS} live secrets: remove one of them first.`,
        );
      }
      options.notifyCredential(application, { what: 'a client secret' }, manager);
      await record(manager, 'secret.added', id, { secret: added.id });
      return { ...added, secret };
    },

    async listSecrets(manager, id) {
      return liveSecrets(await findManaged(options, manager, id, 'viewer'));
    },

    async removeSecret(manager, id, secretId) {
      const { secrets } = await findManaged(options, manager, id, 'developer');
      const left = await store.removeSecret(id, secretId);
      if (left === undefined) throw new ServiceError('not_found', 'There is no such secret.');
      await writes.revoke([{ application: left, over: false }]);
      await record(manager, 'secret.removed', id, { secret: secretId, last: secrets.length === 1 });
    },

    async checkSecret(id, secret, address) {
      const known = await store.findById(id);
      if (known === undefined) return undefined;
      // Another replica may have added it a moment ago.
      const found = findSecret(known, secret) ?? findSecret((await store.findNow(id)) ?? known, secret);
      if (found === undefined) return undefined;
      const given = giverNeeded(known, found);
      if (given !== undefined && !(await holds('client_secret', known, given))) return undefined;
      secretUsed(id, found.id, address);
      return found;
    },

    secretUsed,

    used: recordUse,

    async roleIn(id, person) {
      const application = await options.find(id);
      return application === undefined
        ? person.role
        : roleIn(await ownerPermissions(application, accounts.find), person);
    },

    originsOf: async (id) => originsOf((await options.find(id))?.redirectUris ?? []),

    ownedBy,

    visibleTo: async (userId) => [
      ...(await ownedBy(userId)).map(({ id }) => id),
      ...(await joinedBy(userId)),
    ],

    async giverChanged(person, epoch) {
      const owned = await ownedBy(person);
      const given = await store.givenBy(person);
      for (const { id, trusted } of [...owned, ...given]) if (trusted) await trusts.endIfUnsupported(id);
      await store.raiseEpochsOf(person, epoch);
      while ((await writes.revokeWhatIsDue(person)) > 0);
      for (const { id } of owned) await removeEnded(id);
      // Its tokens name the owner, and may have the role that the giver of the secret had.
      for (const { id } of given) await removeEnded(id, { endTokens: true });
    },

    removeEnded: (id) => removeEnded(id),

    async changeGivers(id, ids, change) {
      // Somebody else may know a credential that is taken over or kept: it does not grow with its giver.
      const restamp = (before: Given | undefined): Given => {
        const next = change(before);
        return next.role && before?.role ? { ...next, role: lowerRole(next.role, before.role) } : next;
      };
      await retried(async () => {
        const before = await store.findNow(id);
        if (before === undefined) return false;
        const secrets = before.secrets.map((it) =>
          ids.has(it.id) ? { ...it, given: restamp(it.given) } : it,
        );
        const keys = ids.has(publicKeysId(id)) ? { jwksGiven: restamp(before.jwksGiven) } : {};
        return writes.change(before, { secrets, ...keys });
      });
      for (const kind of options.keys) await kind.changeGivers(id, ids, restamp);
      for (const { id: memberId, userId, given } of await members.of(id)) {
        if (ids.has(memberId)) await members.setGiven(id, userId, restamp(given));
      }
    },

    async resumeRevocations() {
      await writes.revokeWhatIsDue();
    },
  };
}
