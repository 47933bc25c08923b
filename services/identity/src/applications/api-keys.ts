import { invalidFields } from '@gatehouse/http/schema';
import { ServiceError } from '@gatehouse/kit/errors';
import { newApiKey } from '@gatehouse/tokens/api-key';
import { ceilingOf } from '@gatehouse/tokens/scopes';
import { type ApiKey, type ApiKeyStore, apiKeyOf, MAX_KEYS, type ResolvedApiKey } from './api-key.ts';
import type { Application } from './application.ts';
import { nameProblems } from './application-rules.ts';
import { createLastUsed } from './last-used.ts';
import { type ApplicationTools, ceilingFor, findManaged, lastExpiry, type Manager } from './owned.ts';

/** A key, and what cannot be asked for again: its text. */
export type NewKey = ApiKey & { key: string };

export type ApiKeys = {
  /** `expiresIn` is in seconds; without it, it lives until it is revoked. Throws `conflict` at MAX_KEYS. */
  create(
    manager: Manager,
    clientId: string,
    draft: { name: string; scopes: string[]; expiresIn?: number },
  ): Promise<NewKey>;
  list(manager: Manager, clientId: string): Promise<ApiKey[]>;
  read(manager: Manager, clientId: string, id: string): Promise<ApiKey>;
  revoke(manager: Manager, clientId: string, id: string): Promise<void>;
  /**
   * A new key like the old one, which ends after `overlapSeconds`. Throws `conflict` when the old one has been
   * given a successor that lives.
   */
  rotate(manager: Manager, clientId: string, id: string, overlapSeconds: number): Promise<NewKey>;
  /** What the key with this hash stands for now; undefined when it does not hold. */
  resolve(hash: string): Promise<ResolvedApiKey | undefined>;
  /** Writes the revocations that a crash has kept from being written. For the start and from time to time. */
  finish(): Promise<void>;
};

/** How long services remember what a key stands for, in seconds. */
const REMEMBERED = 60;

/** The use cases of API keys. */
export function createApiKeys(options: ApplicationTools & { keys: ApiKeyStore }): ApiKeys {
  const { store, keys, accounts, revocations, audit } = options;
  const noteUse = createLastUsed(keys.used);

  /** Durable when it resolves; then the key goes, which would have made up for a crash. */
  async function writeRevocation(id: string): Promise<void> {
    await revocations.write([{ kind: 'api_key', id, expiresAt: lastExpiry(options) }]);
    await keys.revocationWritten(id);
  }

  async function record(
    manager: Manager,
    action: 'api_key.created' | 'api_key.rotated' | 'api_key.revoked',
    client: string,
    details: Record<string, unknown>,
  ): Promise<void> {
    await audit.record({
      action,
      origin: manager.origin,
      subject: manager.id,
      client,
      details: { ...details, by: manager.clientId },
    });
  }

  async function insert(key: ApiKey): Promise<void> {
    if (await keys.insert(key)) return;
    throw new ServiceError('conflict', `It has ${MAX_KEYS} API keys already: revoke one of them first.`);
  }

  async function findKey(clientId: string, id: string): Promise<ApiKey> {
    const key = await keys.find(clientId, id);
    if (key === undefined) throw new ServiceError('not_found', 'There is no such API key.');
    return key;
  }

  return {
    async create(manager, clientId, { name, scopes, expiresIn }) {
      const application = await findManaged(store, manager, clientId);
      const ceiling = await ceilingFor(accounts, application, { role: 'admin' });
      const problems = [...nameProblems(name), ...keyScopeProblems(scopes, application, ceiling)];
      if (problems.length > 0) throw invalidFields(problems);
      const { key, ...made } = make({ clientId, name, scopes, lifetime: expiresIn ?? null });
      await insert(made);
      await record(manager, 'api_key.created', clientId, { key: made.id, scopes });
      return { ...made, key };
    },

    async list(manager, clientId) {
      await findManaged(store, manager, clientId);
      return keys.list(clientId);
    },

    async read(manager, clientId, id) {
      await findManaged(store, manager, clientId);
      return findKey(clientId, id);
    },

    async revoke(manager, clientId, id) {
      await findManaged(store, manager, clientId);
      if (!(await keys.markRevoked(clientId, id))) {
        throw new ServiceError('not_found', 'There is no such API key.');
      }
      await writeRevocation(id);
      await record(manager, 'api_key.revoked', clientId, { key: id });
    },

    async rotate(manager, clientId, id, overlapSeconds) {
      await findManaged(store, manager, clientId);
      const old = await findKey(clientId, id);
      const taken = new ServiceError(
        'conflict',
        'This key has a successor already: rotate that one, or revoke it.',
      );
      if (old.rotatedTo !== null && (await keys.find(clientId, old.rotatedTo)) !== undefined) throw taken;
      const { key, ...made } = make(old);
      // First the new one: nobody knows it yet, and a crash now leaves the old one as it was.
      await insert(made);
      if (!(await keys.replace(old, made.id, new Date(Date.now() + overlapSeconds * 1000)))) {
        await keys.markRevoked(clientId, made.id);
        await keys.revocationWritten(made.id);
        throw taken;
      }
      if (overlapSeconds === 0) {
        await keys.markRevoked(clientId, id);
        await writeRevocation(id);
      } else if (overlapSeconds <= REMEMBERED) {
        // Services that have asked before the rotation would go on until they ask again.
        setTimeout(() => {
          const expiresAt = lastExpiry(options);
          revocations.write([{ kind: 'api_key', id, expiresAt }]).catch((error: unknown) => {
            options.logger.warn({ err: error }, 'the end of an API key could not be announced');
          });
        }, overlapSeconds * 1000).unref();
      }
      await record(manager, 'api_key.rotated', clientId, { key: id, successor: made.id, overlapSeconds });
      return { ...made, key };
    },

    async resolve(hash) {
      const key = await keys.findByHash(hash);
      const application = key === undefined ? undefined : await store.findNow(key.clientId);
      if (key === undefined || application === undefined) return undefined;
      const standing = await standingOf(application);
      if (standing === undefined) return undefined;
      noteUse(key.id);
      const { scopes, trusted, owner, role, subject } = standing;
      return {
        id: key.id,
        client_id: application.id,
        scopes: key.scopes.filter((scope) => application.scopes.includes(scope) && scopes.includes(scope)),
        trusted,
        owner,
        role,
        ...(Object.keys(application.profiles).length === 0 ? {} : { profiles: application.profiles }),
        epoch: { client: application.epoch, ...(subject === undefined ? {} : { subject }) },
        expires_at: key.expiresAt?.toISOString() ?? null,
      };
    },

    async finish() {
      for (const id of await keys.awaitingRevocation()) await writeRevocation(id);
    },
  };

  /** Under whom an application's keys stand; undefined when its owner is gone or inactive. */
  async function standingOf(application: Application) {
    if (application.trusted || application.owner === null) {
      return { scopes: application.scopes, trusted: true, owner: null, role: null, subject: undefined };
    }
    const owner = await accounts.find(application.owner);
    if (owner === undefined || owner.status !== 'active') return undefined;
    const scopes: readonly string[] = ceilingOf(owner.role);
    return { scopes, trusted: false, owner: application.owner, role: owner.role, subject: owner.epoch };
  }
}

function make(like: Parameters<typeof apiKeyOf>[1]): NewKey {
  const { key, ...parts } = newApiKey();
  return { ...apiKeyOf(parts, like), key };
}

function keyScopeProblems(scopes: readonly string[], application: Application, ceiling: readonly string[]) {
  const field = 'scopes';
  if (scopes.length === 0) return [{ field, message: 'must name one or more' }];
  if (new Set(scopes).size < scopes.length) return [{ field, message: 'has one of them twice' }];
  const beyond = scopes.filter((scope) => !application.scopes.includes(scope) || !ceiling.includes(scope));
  return beyond.length === 0
    ? []
    : [
        {
          field,
          message: `must not have ${beyond.join(' ').slice(0, 200)}, which the application may not do`,
        },
      ];
}
