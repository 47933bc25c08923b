import { isDeepStrictEqual } from 'node:util';
import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { requireUnprotected } from '@gatehouse/core/protection';
import type { AuditAction } from '@gatehouse/domain/audit-actions';
import type { IfVersion } from '@gatehouse/domain/if-version';
import type { Role } from '@gatehouse/tokens/scopes';
import type { AccountMails } from '../accounts/account-mails.ts';
import type { Audit } from '../audit/audit.ts';
import type { ApplicationRole } from '../authority/application-role.ts';
import type { Authority } from '../authority/authority.ts';
import type { Given } from '../authority/given.ts';
import { createLastUsedRecorder } from '../last-used.ts';
import { changeAtVersion } from '../optimistic-writes.ts';
import {
  type AccompanyingChanges,
  type Application,
  type ApplicationChanges,
  type ApplicationStore,
  type ApplicationType,
  type AssertionRule,
  isConfidential,
  MAX_APPLICATIONS,
  makeSecret,
  mayHaveApiKeys,
  newApplication,
} from './application.ts';
import { applicationChanged } from './application-changed-notice.ts';
import type { ApplicationKeys } from './application-keys.ts';
import { type FindScopes, newRuleProblems, scopeProblems, settingsProblems } from './application-rules.ts';
import { type ApplicationSecrets, createSecrets } from './application-secrets.ts';
import { type ApplicationWrites, withNotedKeys } from './application-writes.ts';
import { requireDeveloperChanges, settingsOfOwner } from './changed-by.ts';
import { createGivenCredentials, type GivenCredentials } from './given-credentials.ts';
import type { MemberStore } from './member.ts';
import type { LimitCredentials, NotifyCredential } from './new-credential-notice.ts';
import {
  type FindOwner,
  findManaged,
  type Manager,
  mayOwn,
  ownerPermissions,
  recordBy,
  roleIn,
} from './ownership.ts';
import { originsOf } from './redirect-uris.ts';
import { withRequired } from './security-profile.ts';
import { createTrusts, onlyAdminsTrust } from './trust.ts';
import { createVisibility, type VisibleApplications } from './visible-applications.ts';

/** The dependencies of managing applications. */
export type ApplicationDependencies = {
  /** Our own. */
  issuer: string;
  store: ApplicationStore;
  members: Pick<MemberStore, 'ofPerson' | 'of' | 'setGiven' | 'remove'>;
  authority: Authority;
  /** Finds any application, also one that nobody has registered here. */
  find(id: string, requester?: string): Promise<Application | undefined>;
  writes: ApplicationWrites;
  /** The credentials that applications have beside their secrets. */
  keys: readonly Pick<ApplicationKeys, 'hasAny' | 'removeAll' | 'removeEnded' | 'changeGivers'>[];
  accounts: { find: FindOwner };
  findScopes: FindScopes;
  audit: Pick<Audit, 'record'>;
  notifyCredential: NotifyCredential;
  limitCredentials: LimitCredentials;
  mails: Pick<AccountMails, 'notify'>;
};

export type ApplicationDraft = { name: string; type: ApplicationType; scopes: string[] } & ApplicationChanges;

export type Applications = ApplicationSecrets &
  Omit<GivenCredentials, 'holds'> &
  VisibleApplications & {
    /**
     * `secret` is set for confidential applications without keys of their own. Admins create applications for other owners, without a
     * secret: it would rest on the admin.
     */
    create(
      manager: Manager,
      draft: ApplicationDraft,
      owner?: string,
    ): Promise<{ application: Application; secret?: string }>;
    /**
     * Any application; may have been read some seconds ago. `requester` is the address of somebody who is asked to sign in to it, or to
     * allow it: for them, one that describes itself is looked up (see ApplicationSource).
     */
    find(id: string, requester?: string): Promise<Application | undefined>;
    /** Throws `forbidden` for a member with a lower role than `needed`, by default a viewer. */
    read(manager: Manager, id: string, needed?: ApplicationRole): Promise<Application>;
    change(
      manager: Manager,
      id: string,
      changes: ApplicationChanges,
      ifVersion?: IfVersion,
    ): Promise<Application>;
    remove(manager: Manager, id: string, ifVersion?: IfVersion): Promise<void>;
    /** Records that the application was given tokens. */
    used(id: string, address: string): void;
    /** The role that a person has in an application, which may be less than their own. */
    roleIn(id: string, person: { role: Role }): Promise<Role>;
    /** The origins of an application's pages. */
    originsOf(id: string): Promise<string[]>;
    /** Writes the revocations that a crash kept from being written. */
    resumeRevocations(): Promise<void>;
  };

/** The use cases of applications and their secrets. */
export function createApplications(options: ApplicationDependencies): Applications {
  const { store, accounts, audit, authority, writes } = options;
  const trusts = createTrusts({ ...options, writes });

  const record = (manager: Manager, action: AuditAction, client: string, details: object = {}) =>
    recordBy(manager, audit, { action, client, details });

  /**
   * An application whose trust has just been granted, as it is now: the owner or the admin may have changed meanwhile, when nobody
   * saw yet that it rests on them.
   */
  async function settled(application: Application): Promise<Application> {
    await trusts.endIfUnsupported(application.id);
    return (await store.findNow(application.id)) ?? application;
  }

  const visible = createVisibility(options);
  const { ownedBy } = visible;
  const { holds, ...givers } = createGivenCredentials({ ...options, trusts, ownedBy });

  return {
    async create(manager, wanted, owner = manager.id) {
      const isOwn = await mayOwn(accounts.find, manager, owner);
      const draft = withRequired(wanted, wanted.type);
      const given = await authority.give('client_secret', manager);
      const { secret, ...stored } = makeSecret({ given });
      const withSecret = isOwn && isConfidential(draft) && draft.jwks === undefined;
      const jwksGiven = draft.jwks && (await authority.give('public_keys', manager, { owner }));
      const identityAssertionsGiven = await giverOfRules(authority, manager, draft);
      const plain = newApplication(
        { ...draft, ...omitUndefined({ jwksGiven, identityAssertionsGiven }), id: newId('app'), owner },
        withSecret ? stored : undefined,
      );
      await check(options, manager, plain, undefined);
      const trust = plain.trusted ? await trusts.grantedBy(manager, plain) : undefined;
      const made = { ...plain, trust };
      await insertNew(options, made, manager);
      const application = trust === undefined ? made : await settled(made);
      if (withSecret) options.notifyCredential(application, { what: 'a client secret' });
      if (application.jwks !== undefined) options.notifyCredential(application, { what: 'public keys' });
      const { type, scopes, trusted } = application;
      const about = { type, scopes, trusted, ...(isOwn ? {} : { owner }) };
      await record(manager, 'application.created', application.id, about);
      return { application, ...(withSecret ? { secret } : {}) };
    },

    ...visible,

    find: options.find,

    read: (manager, id, needed = 'viewer') => findManaged(options, manager, id, needed),

    change(manager, id, wanted, ifVersion) {
      const read = () => findManaged(options, manager, id, 'developer');
      return changeAtVersion(ifVersion, read, async (before) => {
        const changes = withNotedKeys(withRequired(wanted, before.type), before);
        const next = { ...before, ...changes };
        if ((await authority.roleOf(before, manager)) !== 'owner') requireDeveloperChanges(before, changes);
        await check(options, manager, next, before);
        const isAsked = changes.trusted === true || 'scopes' in changes;
        const grants = next.trusted && manager.role === 'admin' && isAsked;
        const trust = grants ? { trust: await trusts.grantedBy(manager, next) } : {};
        const jwksGiven = await giverOfKeys(authority, manager, { before, changes });
        const identityAssertionsGiven = await giverOfRules(authority, manager, changes, before);
        const changed = await writes.change(before, {
          ...changes,
          ...trust,
          ...('jwks' in changes ? { jwksGiven } : {}),
          ...omitUndefined({ identityAssertionsGiven }),
          ...(before.registrableScopes === undefined ? {} : lockedFor(before, changes)),
        });
        if (changed === undefined) return undefined;
        const application = grants ? await settled(changed) : changed;
        if (changes.jwks !== undefined) options.notifyCredential(changed, { what: 'public keys' }, manager);
        notifyOwner(options.mails, manager, { before, changes, changed });
        await record(manager, 'application.changed', id, {
          fields: Object.keys(changes),
          ...omitUndefined({ scopes: changes.scopes, trusted: changes.trusted }),
        });
        return application;
      });
    },

    async remove(manager, id, ifVersion) {
      const read = () => findManaged(options, manager, id, 'owner');
      const deleted = await changeAtVersion(ifVersion, read, async (before) => {
        requireUnprotected(before, 'application');
        return store.markDeleted(id, { updatedAt: before.updatedAt });
      });
      await writes.revoke([{ application: deleted, over: true }]);
      await record(manager, 'application.deleted', id);
    },

    ...createSecrets({ ...options, holds }),
    ...givers,

    used: createLastUsedRecorder(store.used),

    async roleIn(id, person) {
      const application = await options.find(id);
      return application === undefined
        ? person.role
        : roleIn(await ownerPermissions(application, accounts.find), person);
    },

    originsOf: async (id) => originsOf((await options.find(id))?.redirectUris ?? []),

    resumeRevocations: async () => void (await writes.revokeWhatIsDue()),
  };
}

/** Inserts an application. An owner for whom an admin has made it gets a mail. Throws `conflict`. */
async function insertNew(
  { store, mails }: Pick<ApplicationDependencies, 'store' | 'mails'>,
  made: Application,
  manager: Manager,
): Promise<void> {
  const isOwn = made.owner === manager.id;
  if (!(await store.insert(made))) {
    const who = isOwn ? 'You already have' : 'The owner already has';
    throw new ServiceError('conflict', `${who} ${MAX_APPLICATIONS} applications.`);
  }
  if (isOwn || made.owner === null) return;
  await store.noteGiver(made.id, manager.id);
  void mails.notify(made.owner, applicationChanged(made));
}

/** Throws `invalid`, `forbidden` or `conflict` unless an application may become like this. */
async function check(
  options: Pick<ApplicationDependencies, 'issuer' | 'accounts' | 'keys' | 'findScopes'>,
  manager: Manager,
  next: Application,
  before: Application | undefined,
): Promise<void> {
  const trustChanges = next.trusted !== (before?.trusted ?? false);
  if (trustChanges && manager.role !== 'admin') throw onlyAdminsTrust();
  const isNew = (rule: AssertionRule) =>
    before?.identityAssertions.some((it) => isDeepStrictEqual(it, rule)) !== true;
  if (next.identityAssertions.some(isNew) && manager.role !== 'admin') {
    const message = 'Only an admin can add or change rules for identity assertions.';
    throw new ServiceError('forbidden', message);
  }
  const problems = settingsProblems(next);
  next.identityAssertions.forEach(({ authorization_server: server }, i) => {
    const field = `identity_assertions.${i}.authorization_server`;
    if (`${server}/`.startsWith(`${options.issuer}/`))
      problems.push({ field, message: 'must not be this deployment' });
  });
  if (problems.length === 0) problems.push(...(await newRuleProblems(next, before, options.findScopes)));
  if (before === undefined || next.scopes !== before.scopes) {
    // It may keep what it has, such as what an admin gave to a trusted one.
    const allowed = [...(await grantable(options, manager, next)), ...(before?.scopes ?? [])];
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

/** The scopes that the manager may give to the application: only an admin may give any to a trusted one. */
async function grantable(
  { accounts }: Pick<ApplicationDependencies, 'accounts'>,
  manager: Manager,
  application: Application,
): Promise<readonly string[]> {
  if (application.trusted && manager.role !== 'admin') return [];
  const { within } = await ownerPermissions(application, accounts.find);
  return within(application.scopes);
}

/** Tells the owner of an application that somebody else has changed its settings. */
function notifyOwner(
  mails: ApplicationDependencies['mails'],
  manager: Manager,
  { before, changes, changed }: Record<'before' | 'changed', Application> & { changes: ApplicationChanges },
): void {
  if (before.owner === null || before.owner === manager.id) return;
  if (settingsOfOwner(before, changes).some((it) => it !== 'jwks'))
    void mails.notify(before.owner, applicationChanged(changed));
}

/** A person who sends the same keys again does not become their giver. */
async function giverOfKeys(
  authority: Authority,
  manager: Manager,
  { before, changes }: { before: Application; changes: ApplicationChanges },
): Promise<Given | undefined> {
  if (isDeepStrictEqual(changes.jwks, before.jwks)) return before.jwksGiven;
  return changes.jwks && (await authority.give('public_keys', manager, before));
}

/** An admin who sends the rules for identity assertions gives them, also those that another admin has given before. */
async function giverOfRules(
  authority: Authority,
  manager: Manager,
  { identityAssertions }: ApplicationChanges,
  before?: Application,
): Promise<Given | undefined> {
  const gives = manager.role === 'admin' && identityAssertions !== undefined && identityAssertions.length > 0;
  return gives ? authority.give('assertion_rules', manager, before) : undefined;
}

/** The limits of a client that manages its own registration: its scopes, and the settings that differ now and that it cannot change back. */
function lockedFor(before: Application, changes: ApplicationChanges): AccompanyingChanges {
  const { scopes, ...settings } = changes;
  const different = Object.entries(settings).flatMap(([name, value]) =>
    isDeepStrictEqual(value, before[name as keyof Application]) ? [] : [name],
  );
  return {
    ...(scopes && { registrableScopes: scopes }),
    lockedSettings: [...new Set([...(before.lockedSettings ?? []), ...different])],
  };
}
