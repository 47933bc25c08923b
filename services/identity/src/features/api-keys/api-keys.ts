import { invalidFields } from '@gatehouse/api/http/schema';
import { type FieldProblem, ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import type { AuditAction } from '@gatehouse/domain/audit-actions';
import { newApiKey } from '@gatehouse/tokens/api-key';
import { parseApiKey } from '@gatehouse/verify/api-key';
import type { Account, Accounts } from '../../core/accounts/account.ts';
import {
  type Application,
  type ApplicationStore,
  lastFourOf,
  mayHaveApiKeys,
} from '../../core/applications/application.ts';
import type { ApplicationKeys } from '../../core/applications/application-keys.ts';
import { excessProblems, nameProblems } from '../../core/applications/application-rules.ts';
import type { LimitCredentials, NotifyCredential } from '../../core/applications/new-credential-notice.ts';
import {
  credentialPermissions,
  findManaged,
  type Manager,
  recordBy,
} from '../../core/applications/ownership.ts';
import type { Audit } from '../../core/audit/audit.ts';
import type { Authority } from '../../core/authority/authority.ts';
import { createLastUsedRecorder } from '../../core/last-used.ts';
import type { FindResource } from '../../core/oidc/protected-resource.ts';
import type { Revocations } from '../../core/revocations/revocations.ts';
import { type ApiKey, type ApiKeyStore, apiKeyOf, MAX_KEYS } from './api-key.ts';

/** A key with its text, which is shown only once. */
export type NewKey = ApiKey & { key: string };

export type ApiKeys = Omit<ApplicationKeys, 'list'> & {
  /** `expiresIn` is in seconds; by default the key never expires. Throws `conflict` when there are MAX_KEYS. */
  create(
    manager: Manager,
    clientId: string,
    draft: { name: string; scopes: string[]; resource?: string | undefined; expiresIn: number | undefined },
  ): Promise<NewKey>;
  list(manager: Manager, clientId: string): Promise<ApiKey[]>;
  read(manager: Manager, clientId: string, id: string): Promise<ApiKey>;
  /** Replaces a key, which expires after `overlapSeconds`. Throws `conflict` when it has a live successor already. */
  rotate(manager: Manager, clientId: string, id: string, overlapSeconds: number): Promise<NewKey>;
  /** Writes the revocations that a crash kept from being written. */
  resumeRevocations(): Promise<void>;
};

/** The most replaced keys whose ids a key remembers. */
const MAX_REPLACED = 50;
/** How long services cache what a key permits. */
const CACHED_SECONDS = 60;

type ApiKeyOptions = {
  store: Pick<ApplicationStore, 'findNow' | 'used'>;
  authority: Authority<Account>;
  keys: ApiKeyStore;
  accounts: Pick<Accounts, 'find'>;
  findResource: FindResource;
  revocations: Pick<Revocations, 'write'>;
  audit: Pick<Audit, 'record'>;
  notifyCredential: NotifyCredential;
  limitCredentials: LimitCredentials;
  logger: Logger;
};

/** A key to be made; `createdAt` is that of the key that it replaces. */
type KeyDraft = {
  name: string;
  scopes: readonly string[];
  resource: string | undefined;
  createdAt?: Date;
};

/** The use cases of API keys. */
export function createApiKeys(options: ApiKeyOptions): ApiKeys {
  const { store, keys, accounts, revocations, authority } = options;
  const recordUse = createLastUsedRecorder(keys.used);
  const recordApplicationUse = createLastUsedRecorder(store.used);

  /** Durable when it resolves. Only then is the key removed, by which it would be resumed after a crash. */
  async function writeRevocation(id: string): Promise<void> {
    await revocations.write([{ kind: 'api_key', id }]);
    await keys.revocationWritten(id);
  }

  /** The permissions of a key with this giver; undefined once the giver could no longer make it. */
  const permissionsBy = (application: Application, given: ApiKey['given']) =>
    credentialPermissions(application, { kind: 'api_key', given }, { authority, findOwner: accounts.find });

  /** The scopes of a resource of others that a key of the application can have; undefined if it can have none. */
  async function scopesAt(
    resource: string,
    application: Application,
    isOfMember: boolean,
    since = new Date(),
  ) {
    const found = await options.findResource(resource, { ...application, isMachine: true, isOfMember });
    // One that is registered again with the same URL has no keys from before.
    return found && found.createdAt <= since ? found.scopes.map(({ name }) => name) : undefined;
  }

  async function problemsOf(
    { name, scopes, resource, createdAt }: KeyDraft,
    application: Application,
    given: ApiKey['given'],
  ): Promise<FieldProblem[]> {
    const permissions = await permissionsBy(application, given);
    const atResource =
      resource && (await scopesAt(resource, application, permissions?.givenBy !== undefined, createdAt));
    const allowed = atResource || permissions?.within(application.scopes) || [];
    const holder = resource ? 'the API' : 'the application';
    if (resource !== undefined && !atResource) return [NOT_ITS_API];
    return [...nameProblems(name), ...excessProblems(scopes, allowed, holder)];
  }

  return {
    ...createKeyManagement({ ...options, problemsOf, writeRevocation }),

    async resolve(hash, address) {
      const key = await keys.findByHash(hash);
      const application = key === undefined ? undefined : await store.findNow(key.clientId);
      if (key === undefined || application === undefined) return undefined;
      if (!mayHaveApiKeys(application)) return undefined;
      const permissions = await permissionsBy(application, key.given);
      if (permissions?.active !== true) return undefined;
      const { owner, givenBy, within } = permissions;
      const { resource } = key;
      const isOfMember = givenBy !== undefined;
      const atResource = resource && (await scopesAt(resource, application, isOfMember, key.createdAt));
      if (resource !== undefined && !atResource) return undefined;
      const allowed = atResource || within(application.scopes);
      recordUse(key.id, address);
      recordApplicationUse(application.id, address);
      return {
        id: key.id,
        client_id: application.id,
        scopes: key.scopes.filter((scope) => allowed.includes(scope)),
        ...omitUndefined({ resource }),
        trusted: owner === undefined,
        owner: owner?.id ?? null,
        role: owner?.role ?? null,
        ...(givenBy === undefined ? {} : { given_by: givenBy }),
        ...(Object.keys(application.profiles).length === 0 ? {} : { profiles: application.profiles }),
        epoch: { client: application.epoch, ...(owner === undefined ? {} : { subject: owner.epoch }) },
        expires_at: key.expiresAt?.toISOString() ?? null,
      };
    },

    live: async (clientId) =>
      (await keys.list(clientId)).map(({ id, replaces, given }) => ({ ids: [id, ...replaces], given })),
    hasAny: async (clientId) => (await keys.list(clientId)).length > 0,
    exists: async (clientId, id) => (await keys.find(clientId, id)) !== undefined,
    removeAll: keys.removeAll,

    async removeEnded(application) {
      for (const { id, given } of await keys.list(application.id)) {
        if ((await permissionsBy(application, given)) !== undefined) continue;
        await keys.markRevoked(application.id, id);
        await writeRevocation(id);
      }
    },

    async changeGivers(clientId, ids, change) {
      for (const { id, given } of await keys.list(clientId)) {
        if (ids.has(id)) await keys.setGiven(clientId, id, change(given));
      }
    },

    async createFirst({ clientId, apiKey }) {
      const parsed = apiKey === undefined ? undefined : parseApiKey(apiKey.key);
      if (apiKey === undefined || parsed === undefined) return;
      if ((await keys.findByHash(parsed.hash)) !== undefined) return;
      const like = { clientId, given: undefined, name: 'First key', scopes: apiKey.scopes, lifetime: null };
      await keys.insert(apiKeyOf({ ...parsed, lastFour: lastFourOf(apiKey.key) }, like));
    },

    async resumeRevocations() {
      for (const id of await keys.awaitingRevocation()) await writeRevocation(id);
    },
  };
}

const NOT_ITS_API = {
  field: 'resource',
  message: 'must be an API for which this application gets tokens for itself',
};

/** Lets managers create, list, rotate and revoke the API keys of their applications. */
function createKeyManagement(
  options: ApiKeyOptions & {
    problemsOf(draft: KeyDraft, application: Application, given: ApiKey['given']): Promise<FieldProblem[]>;
    writeRevocation(id: string): Promise<void>;
  },
): Pick<ApiKeys, 'create' | 'list' | 'read' | 'revoke' | 'rotate'> {
  const { keys, audit, authority, problemsOf, writeRevocation } = options;

  const record = (manager: Manager, action: AuditAction, client: string, details: object = {}) =>
    recordBy(manager, audit, { action, client, details });

  async function insert(key: ApiKey): Promise<void> {
    if (await keys.insert(key)) return;
    throw new ServiceError(
      'conflict',
      `The application already has ${MAX_KEYS} API keys: revoke one of them first.`,
    );
  }

  async function findKey(clientId: string, id: string): Promise<ApiKey> {
    const key = await keys.find(clientId, id);
    if (key === undefined) throw new ServiceError('not_found', 'There is no such API key.');
    return key;
  }

  return {
    async create(manager, clientId, { name, scopes, resource, expiresIn }) {
      const application = await findManaged(options, manager, clientId, 'developer');
      requireBearer(application);
      const given = await authority.give('api_key', manager, application);
      const problems = await problemsOf({ name, scopes, resource }, application, given);
      if (problems.length > 0) throw invalidFields(problems);
      await options.limitCredentials(application, manager);
      const { key, ...made } = make({
        clientId,
        given,
        name,
        scopes,
        ...omitUndefined({ resource }),
        lifetime: expiresIn ?? null,
      });
      await insert(made);
      options.notifyCredential(application, { what: 'an API key', name }, manager);
      await record(manager, 'api_key.created', clientId, {
        ...{ key: made.id, scopes },
        ...omitUndefined({ resource }),
      });
      return { ...made, key };
    },

    async list(manager, clientId) {
      await findManaged(options, manager, clientId, 'viewer');
      return keys.list(clientId);
    },

    async read(manager, clientId, id) {
      await findManaged(options, manager, clientId, 'viewer');
      return findKey(clientId, id);
    },

    async revoke(manager, clientId, id) {
      await findManaged(options, manager, clientId, 'developer');
      await findKey(clientId, id);
      // The webhooks that rest on it end with it, although another key has replaced it.
      await keys.forgetReplaced(clientId, id);
      await keys.markRevoked(clientId, id);
      // A rotation that was under way has named it once more.
      await keys.forgetReplaced(clientId, id);
      await writeRevocation(id);
      await record(manager, 'api_key.revoked', clientId, { key: id });
    },

    async rotate(manager, clientId, id, overlapSeconds) {
      const application = await findManaged(options, manager, clientId, 'developer');
      requireBearer(application);
      const old = await findKey(clientId, id);
      if (old.rotatedTo !== null && (await keys.find(clientId, old.rotatedTo)) !== undefined)
        throw hasSuccessor();
      const given = await authority.give('api_key', manager, application);
      const problems =
        old.resource === undefined
          ? []
          : await problemsOf({ ...old, resource: old.resource }, application, given);
      if (problems.length > 0) throw invalidFields(problems);
      await options.limitCredentials(application, manager);
      const replaces = [old.id, ...old.replaces].slice(0, MAX_REPLACED);
      const { key, ...made } = make({ ...old, given, replaces });
      // The new one first: nobody knows it yet, so a crash here leaves the old one as it was.
      await insert(made);
      if (!(await keys.replace(old, made.id, new Date(Date.now() + overlapSeconds * 1000)))) {
        await keys.markRevoked(clientId, made.id);
        await keys.revocationWritten(made.id);
        throw hasSuccessor();
      }
      if (overlapSeconds === 0) {
        await keys.markRevoked(clientId, id);
        await writeRevocation(id);
      } else if (overlapSeconds <= CACHED_SECONDS) announceEnd(options, id, overlapSeconds);
      options.notifyCredential(
        application,
        { what: 'an API key in place of another', name: old.name },
        manager,
      );
      await record(manager, 'api_key.rotated', clientId, { key: id, successor: made.id, overlapSeconds });
      return { ...made, key };
    },
  };
}

/** Services that resolved a key before its rotation would accept it until their cache expires. */
function announceEnd(
  { revocations, logger }: Pick<ApiKeyOptions, 'revocations' | 'logger'>,
  id: string,
  afterSeconds: number,
): void {
  setTimeout(() => {
    revocations.write([{ kind: 'api_key', id }]).catch((error: unknown) => {
      logger.warn({ err: error }, 'the end of an API key could not be announced');
    });
  }, afterSeconds * 1000).unref();
}

function requireBearer(application: Application): void {
  if (mayHaveApiKeys(application)) return;
  const reason = 'its access tokens are bound to a key (DPoP), and API keys work without a proof';
  throw new ServiceError('conflict', `The application gets no API keys: ${reason}.`);
}

const hasSuccessor = () =>
  new ServiceError('conflict', 'This key already has a successor: rotate that one, or revoke it.');

function make(like: Parameters<typeof apiKeyOf>[1]): NewKey {
  const { key, ...parts } = newApiKey();
  return { ...apiKeyOf({ ...parts, lastFour: lastFourOf(key) }, like), key };
}
