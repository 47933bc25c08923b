import { invalidFields } from '@gatehouse/http/schema';
import { ServiceError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/logger';
import { omitUndefined } from '@gatehouse/kit/omit-undefined';
import type { Role } from '@gatehouse/tokens/scopes';
import type { Audit, AuditAction } from '../audit/audit.ts';
import type { RevocationEntry } from '../revocations/revocations.ts';
import type { ApiKeyStore } from './api-key.ts';
import {
  type Application,
  type ApplicationChanges,
  type ApplicationStore,
  type ApplicationType,
  type ClientSecret,
  clientSecretOf,
  findSecret,
  isConfidential,
  liveSecrets,
  MAX_APPLICATIONS,
  MAX_SECRETS,
  newApplication,
  newSecret,
} from './application.ts';
import { scopeProblems, settingsProblems } from './application-rules.ts';
import { createLastUsedRecorder } from './last-used.ts';
import {
  type FindOwner,
  findManaged,
  type Manager,
  ownerPermissions,
  recordBy,
  roleIn,
} from './ownership.ts';
import { originsOf } from './redirect-uris.ts';

/** What managing applications and their keys depends on. */
export type ApplicationDependencies = {
  store: ApplicationStore;
  keys: ApiKeyStore;
  accounts: { find: FindOwner };
  revocations: { write(entries: readonly RevocationEntry[]): Promise<void> };
  audit: Pick<Audit, 'record'>;
  logger: Logger;
  /** Tells the owner of an application what it has been given. Never rejects. */
  notifyCredential(
    application: Pick<Application, 'owner' | 'name'>,
    what: 'a client secret' | 'an API key' | 'public keys',
  ): void;
  /** Ends every grant to an application that is gone. */
  endGrants(clientId: string): Promise<void>;
};

export type ApplicationDraft = { name: string; type: ApplicationType; scopes: string[] } & ApplicationChanges;

/** A secret with its text, which is shown only once. */
export type NewSecret = ClientSecret & { secret: string };

export type Applications = {
  /** `secret` is set for confidential applications without keys of their own. */
  create(manager: Manager, draft: ApplicationDraft): Promise<{ application: Application; secret?: string }>;
  /** The manager's own, or all for admins; `next` is the id to go on after. */
  list(
    manager: Manager,
    page: { after: string | undefined; limit: number },
  ): Promise<{ applications: Application[]; next: string | undefined }>;
  /** Any application; may have been read some seconds ago. */
  find(id: string): Promise<Application | undefined>;
  read(manager: Manager, id: string): Promise<Application>;
  change(manager: Manager, id: string, changes: ApplicationChanges): Promise<Application>;
  remove(manager: Manager, id: string): Promise<void>;
  /** Throws `conflict` when there are two already. `expiresIn` is in seconds; by default it never expires. */
  addSecret(manager: Manager, id: string, options: { expiresIn: number | undefined }): Promise<NewSecret>;
  listSecrets(manager: Manager, id: string): Promise<ClientSecret[]>;
  /** May remove the last one: then the application cannot authenticate until it is given another. */
  removeSecret(manager: Manager, id: string, secretId: string): Promise<void>;
  /** Revokes the access tokens that the application has. Durable when it resolves. */
  endTokens(manager: Manager, id: string): Promise<void>;
  /** Whether this is a live client_secret of the application; its use is recorded. */
  checkSecret(id: string, secret: string): Promise<boolean>;
  /** The role that a person has in an application, which may be less than their own. */
  roleIn(id: string, person: { role: Role }): Promise<Role>;
  /** The origins of an application's pages. */
  originsOf(id: string): Promise<string[]>;
  /**
   * Revokes the tokens of a person's applications, except trusted ones, that were issued before this epoch of the person's
   * account. Durable when it resolves. Repeated after it was broken off, it goes on where it was.
   */
  ownerChanged(owner: string, epoch: number): Promise<void>;
  /** Writes the revocations that a crash kept from being written. */
  resumeRevocations(): Promise<void>;
};

type Revoked = { application: Application; deleted?: boolean };

/** How often a change is tried when others change the application at the same time. */
const MAX_TRIES = 5;

/** The use cases of applications and their secrets. */
export function createApplications(options: ApplicationDependencies): Applications {
  const { store, keys, accounts, revocations, audit } = options;
  const recordUse = createLastUsedRecorder((ids, at) => {
    const [id = '', secretId = ''] = ids.split(' ');
    return store.secretUsed(id, secretId, at);
  });

  /**
   * Revokes the tokens with lower epochs, if there are any, and tells every replica to read the applications anew. Durable
   * when it resolves. Only then are the marks removed by which it would be resumed after a crash.
   */
  async function revoke(applications: readonly Revoked[]): Promise<void> {
    await revocations.write(
      applications.map(({ application: { id, epoch } }) => ({ kind: 'client', id, epoch })),
    );
    await Promise.all(
      applications.map(async ({ application: { id, epoch }, deleted = false }) => {
        if (deleted) await Promise.all([keys.removeAll(id), options.endGrants(id)]);
        await store.revocationWritten(id, epoch);
      }),
    );
  }

  /** Returns how many there were; others may be left. */
  async function revokeWhatIsDue(owner?: string): Promise<number> {
    const due = await store.awaitingRevocation(owner);
    if (due.length > 0) await revoke(due);
    return due.length;
  }

  const record = (manager: Manager, action: AuditAction, client: string, details: object = {}) =>
    recordBy(manager, audit, { action, client, details });

  /** Throws `invalid` or `forbidden` unless an application may become like this. */
  async function check(manager: Manager, next: Application, before: Application | undefined): Promise<void> {
    const trustChanges = next.trusted !== (before?.trusted ?? false);
    if (trustChanges && manager.role !== 'admin') {
      throw new ServiceError('forbidden', 'Only an admin can decide whether an application is trusted.');
    }
    const problems = settingsProblems(next);
    if (before === undefined || next.scopes !== before.scopes) {
      // The owner of a trusted application cannot give it more than they have themselves.
      const trusted = next.trusted && manager.role === 'admin';
      const { within } = await ownerPermissions({ ...next, trusted }, accounts.find);
      // It may keep what it has, such as what an admin gave to a trusted one.
      const allowed = [...within(next.scopes), ...(before?.scopes ?? [])];
      problems.push(...scopeProblems(next.scopes, { type: next.type, allowed }));
    }
    if (problems.length > 0) throw invalidFields(problems);
  }

  return {
    async create(manager, draft) {
      if ((await store.count(manager.id, MAX_APPLICATIONS)) >= MAX_APPLICATIONS) {
        throw new ServiceError('conflict', `You already have ${MAX_APPLICATIONS} applications.`);
      }
      const secret = newSecret();
      const withSecret = isConfidential(draft) && draft.jwks === undefined;
      const application = newApplication(
        { ...draft, id: newId('app'), owner: manager.id },
        withSecret ? clientSecretOf(secret) : undefined,
      );
      await check(manager, application, undefined);
      await store.insertIfAbsent(application);
      if (withSecret) options.notifyCredential(application, 'a client secret');
      if (application.jwks !== undefined) options.notifyCredential(application, 'public keys');
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

    find: store.findById,

    read: (manager, id) => findManaged(store, manager, id),

    async change(manager, id, changes) {
      for (let i = 0; i < MAX_TRIES; i += 1) {
        const before = await findManaged(store, manager, id);
        const next = { ...before, ...changes };
        await check(manager, next, before);
        const changed = await store.change(before, changes, isLess(next, before));
        if (changed === undefined) continue;
        await revoke([{ application: changed }]);
        if (changes.jwks !== undefined) options.notifyCredential(changed, 'public keys');
        await record(manager, 'application.changed', id, {
          fields: Object.keys(changes),
          ...omitUndefined({ scopes: changes.scopes, trusted: changes.trusted }),
        });
        return changed;
      }
      throw new ServiceError('conflict', 'This application is being changed by others: try again.');
    },

    async remove(manager, id) {
      await findManaged(store, manager, id);
      const deleted = await store.markDeleted(id);
      if (deleted !== undefined) await revoke([{ application: deleted, deleted: true }]);
      await record(manager, 'application.deleted', id);
    },

    async addSecret(manager, id, { expiresIn }) {
      const application = await findManaged(store, manager, id);
      if (!isConfidential(application)) {
        throw new ServiceError('invalid', `An application of type ${application.type} cannot keep a secret.`);
      }
      const secret = newSecret();
      const added = clientSecretOf(secret, expiresIn);
      const done = await store.addSecret(id, added);
      if (done === undefined) throw new ServiceError('not_found', 'There is no such application.');
      if (!done) {
        throw new ServiceError(
          'conflict',
          `The application already has ${MAX_SECRETS} live secrets: remove one of them first.`,
        );
      }
      options.notifyCredential(application, 'a client secret');
      await record(manager, 'secret.added', id, { secret: added.id });
      return { ...added, secret };
    },

    async listSecrets(manager, id) {
      return liveSecrets(await findManaged(store, manager, id));
    },

    async removeSecret(manager, id, secretId) {
      const { secrets } = await findManaged(store, manager, id);
      const left = await store.removeSecret(id, secretId);
      if (left === undefined) throw new ServiceError('not_found', 'There is no such secret.');
      await revoke([{ application: left }]);
      await record(manager, 'secret.removed', id, { secret: secretId, last: secrets.length === 1 });
    },

    async endTokens(manager, id) {
      for (let i = 0; i < MAX_TRIES; i += 1) {
        const changed = await store.change(await findManaged(store, manager, id), {}, true);
        if (changed !== undefined) return revoke([{ application: changed }]);
      }
      throw new ServiceError('conflict', 'This application is being changed by others: try again.');
    },

    async checkSecret(id, secret) {
      const known = await store.findById(id);
      if (known === undefined) return false;
      // Another replica may have added it a moment ago.
      const found = findSecret(known, secret) ?? findSecret((await store.findNow(id)) ?? known, secret);
      if (found !== undefined) recordUse(`${id} ${found.id}`);
      return found !== undefined;
    },

    async roleIn(id, person) {
      const application = await store.findById(id);
      return application === undefined
        ? person.role
        : roleIn(await ownerPermissions(application, accounts.find), person);
    },

    originsOf: async (id) => originsOf((await store.findById(id))?.redirectUris ?? []),

    async ownerChanged(owner, epoch) {
      await store.raiseEpochsOf(owner, epoch);
      while ((await revokeWhatIsDue(owner)) > 0);
    },

    async resumeRevocations() {
      await revokeWhatIsDue();
    },
  };
}

/** Whether tokens that were issued before carry more than new ones would. */
function isLess(next: Application, before: Application): boolean {
  return (
    before.scopes.some((scope) => !next.scopes.includes(scope)) ||
    (before.trusted && !next.trusted) ||
    (!before.dpopBound && next.dpopBound)
  );
}
