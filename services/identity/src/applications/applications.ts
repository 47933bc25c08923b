import { invalidFields } from '@gatehouse/http/schema';
import { ServiceError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { ApiKeyStore } from './api-key.ts';
import {
  type Application,
  type ApplicationChanges,
  type ApplicationType,
  type ClientSecret,
  findSecret,
  hashSecret,
  isConfidential,
  liveSecrets,
  MAX_APPLICATIONS,
  MAX_SECRETS,
  newApplication,
  newSecret,
} from './application.ts';
import { scopeProblems, settingsProblems } from './application-rules.ts';
import { createLastUsed } from './last-used.ts';
import { type ApplicationTools, ceilingFor, findManaged, lastExpiry, type Manager } from './owned.ts';

export type ApplicationDraft = { name: string; type: ApplicationType; scopes: string[] } & ApplicationChanges;

/** A secret, and what cannot be asked for again: its text. */
export type NewSecret = ClientSecret & { secret: string };

export type Applications = {
  /** `secret` is there for confidential applications without keys of their own. */
  create(manager: Manager, draft: ApplicationDraft): Promise<{ application: Application; secret?: string }>;
  /** The manager's own, or all for admins; `next` is the id to go on after. */
  list(
    manager: Manager,
    page: { after?: string; limit: number },
  ): Promise<{ applications: Application[]; next: string | undefined }>;
  read(manager: Manager, id: string): Promise<Application>;
  change(manager: Manager, id: string, changes: ApplicationChanges): Promise<Application>;
  remove(manager: Manager, id: string): Promise<void>;
  /** Throws `conflict` when two live already. `expiresIn` is in seconds; without it, it lives until removed. */
  addSecret(manager: Manager, id: string, options: { expiresIn?: number }): Promise<NewSecret>;
  listSecrets(manager: Manager, id: string): Promise<ClientSecret[]>;
  /** The last one, too: then it cannot authenticate until it is given another. */
  removeSecret(manager: Manager, id: string, secretId: string): Promise<void>;
  /** Whether a client_secret is a live one of this application; its use is noted. */
  checkSecret(id: string, secret: string): Promise<boolean>;
  /**
   * Ends the tokens of a person's applications, as their role or status has changed and the applications stand
   * within it. Not those of trusted ones, which stand for themselves. Durable when it resolves.
   */
  ownerChanged(owner: string): Promise<void>;
  /** Writes the revocations that a crash has kept from being written. For the start and from time to time. */
  finish(): Promise<void>;
};

/** How often a change is tried again that others get in the way of. */
const TRIES = 5;
const PAGE = 100;

/** The use cases of applications and their secrets. */
export function createApplications(options: ApplicationTools & { keys: ApiKeyStore }): Applications {
  const { store, keys, accounts, revocations, audit } = options;
  const noteUse = createLastUsed((ids, at) => {
    const [id = '', secretId = ''] = ids.split(' ');
    return store.secretUsed(id, secretId, at);
  });

  /** Durable when it resolves; then the mark goes that would have made up for a crash. */
  async function revoke({ id, epoch }: Application, deleted: boolean): Promise<void> {
    await revocations.write([
      { kind: 'client', id, expiresAt: lastExpiry(options), ...(deleted ? {} : { epoch }) },
    ]);
    if (deleted) await Promise.all([keys.removeAll(id), options.endGrants(id)]);
    await store.revocationWritten(id, epoch);
  }

  async function record(
    manager: Manager,
    action:
      | 'application.created'
      | 'application.changed'
      | 'application.deleted'
      | 'secret.added'
      | 'secret.removed',
    client: string,
    details?: Record<string, unknown>,
  ): Promise<void> {
    await audit.record({
      action,
      origin: manager.origin,
      subject: manager.id,
      client,
      details: { ...details, by: manager.clientId },
    });
  }

  /** Checks what an application would become, and throws `invalid` or `forbidden`. */
  async function check(manager: Manager, next: Application, before: Application | undefined): Promise<void> {
    const trustChanges = next.trusted !== (before?.trusted ?? false);
    if (trustChanges && manager.role !== 'admin') {
      throw new ServiceError('forbidden', 'Only an admin decides whether an application is trusted.');
    }
    const problems = settingsProblems(next);
    if (before === undefined || next.scopes !== before.scopes) {
      // What it has already it may keep, such as what an admin gave to a trusted one.
      const allowed = [...(await ceilingFor(accounts, next, manager)), ...(before?.scopes ?? [])];
      problems.push(...scopeProblems(next.scopes, { type: next.type, ceiling: allowed }));
    }
    if (problems.length > 0) throw invalidFields(problems);
  }

  return {
    async create(manager, draft) {
      if ((await store.count(manager.id, MAX_APPLICATIONS)) >= MAX_APPLICATIONS) {
        throw new ServiceError('conflict', `You have ${MAX_APPLICATIONS} applications already.`);
      }
      const secret = newSecret();
      const withSecret = isConfidential(draft) && draft.jwks === undefined;
      const application = newApplication(
        { ...draft, id: newId('app'), owner: manager.id },
        withSecret ? secretOf(secret) : undefined,
      );
      await check(manager, application, undefined);
      await store.insertIfAbsent(application);
      const { type, scopes, trusted } = application;
      await record(manager, 'application.created', application.id, { type, scopes, trusted });
      return { application, ...(withSecret ? { secret } : {}) };
    },

    async list(manager, { after, limit }) {
      const found = await store.list({
        ...(manager.role === 'admin' ? {} : { owner: manager.id }),
        ...(after === undefined ? {} : { after }),
        // One more tells whether there is a next page.
        limit: limit + 1,
      });
      const applications = found.slice(0, limit);
      return { applications, next: found.length > limit ? applications.at(-1)?.id : undefined };
    },

    read: (manager, id) => findManaged(store, manager, id),

    async change(manager, id, changes) {
      for (let i = 0; i < TRIES; i += 1) {
        const before = await findManaged(store, manager, id);
        const next = { ...before, ...changes };
        await check(manager, next, before);
        const shrinks = isLess(next, before);
        const changed = await store.change(before, changes, shrinks);
        if (changed === undefined) continue;
        if (shrinks) await revoke(changed, false);
        await record(manager, 'application.changed', id, {
          fields: Object.keys(changes),
          ...(changes.scopes === undefined ? {} : { scopes: changes.scopes }),
          ...(changes.trusted === undefined ? {} : { trusted: changes.trusted }),
        });
        return changed;
      }
      throw new ServiceError('conflict', 'Others are changing this application just now: try again.');
    },

    async remove(manager, id) {
      await findManaged(store, manager, id);
      const deleted = await store.markDeleted(id);
      if (deleted !== undefined) await revoke(deleted, true);
      await record(manager, 'application.deleted', id);
    },

    async addSecret(manager, id, { expiresIn }) {
      const application = await findManaged(store, manager, id);
      if (!isConfidential(application)) {
        throw new ServiceError('invalid', `An application of type ${application.type} cannot keep a secret.`);
      }
      const secret = newSecret();
      const added = secretOf(secret, expiresIn);
      const done = await store.addSecret(id, added);
      if (done === undefined) throw new ServiceError('not_found', 'There is no such application.');
      if (!done) {
        throw new ServiceError(
          'conflict',
          `It has ${MAX_SECRETS} live secrets already: remove one of them first.`,
        );
      }
      await record(manager, 'secret.added', id, { secret: added.id });
      return { ...added, secret };
    },

    async listSecrets(manager, id) {
      return liveSecrets(await findManaged(store, manager, id));
    },

    async removeSecret(manager, id, secretId) {
      const { secrets } = await findManaged(store, manager, id);
      if (!(await store.removeSecret(id, secretId))) {
        throw new ServiceError('not_found', 'There is no such secret.');
      }
      await record(manager, 'secret.removed', id, { secret: secretId, last: secrets.length === 1 });
    },

    async checkSecret(id, secret) {
      const known = await store.findById(id);
      if (known === undefined) return false;
      // It may have been added at another replica a moment ago.
      const found = findSecret(known, secret) ?? findSecret((await store.findNow(id)) ?? known, secret);
      if (found !== undefined) noteUse(`${id} ${found.id}`);
      return found !== undefined;
    },

    async ownerChanged(owner) {
      for (let after: string | undefined; ; ) {
        const page = await store.list({ owner, ...(after === undefined ? {} : { after }), limit: PAGE });
        for (const { id } of page.filter(({ trusted }) => !trusted)) {
          const raised = await store.raiseEpoch(id);
          if (raised !== undefined) await revoke(raised, false);
        }
        if (page.length < PAGE) return;
        after = page.at(-1)?.id;
      }
    },

    async finish() {
      for (const { application, deleted } of await store.awaitingRevocation()) {
        await revoke(application, deleted);
      }
    },
  };
}

function secretOf(secret: string, expiresIn?: number): ClientSecret {
  const now = Date.now();
  return {
    id: newId('sec'),
    hash: hashSecret(secret),
    createdAt: new Date(now),
    expiresAt: expiresIn === undefined ? null : new Date(now + expiresIn * 1000),
    lastUsedAt: null,
  };
}

/** Whether tokens that were given out before hold more than new ones would. */
function isLess(next: Application, before: Application): boolean {
  return (
    before.scopes.some((scope) => !next.scopes.includes(scope)) ||
    (before.trusted && !next.trusted) ||
    (!before.dpopBound && next.dpopBound)
  );
}
