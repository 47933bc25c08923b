import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import type { AuditAction } from '@gatehouse/domain/audit-actions';
import type { Audit } from '../audit/audit.ts';
import type { Authority } from '../authority/authority.ts';
import { createLastUsedRecorder } from '../last-used.ts';
import {
  type ApplicationStore,
  type ClientSecret,
  findSecret,
  isConfidential,
  liveSecrets,
  MAX_SECRETS,
  makeSecret,
} from './application.ts';
import { nameProblems } from './application-rules.ts';
import type { ApplicationWrites } from './application-writes.ts';
import type { GivenCredentials } from './given-credentials.ts';
import type { LimitCredentials, NotifyCredential } from './new-credential-notice.ts';
import { type FindOwner, findManaged, giverNeeded, type Manager, recordBy } from './ownership.ts';

/** A secret with its text, which is shown only once. */
type NewSecret = ClientSecret & { secret: string };

export type ApplicationSecrets = {
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
};

/** The use cases of the secrets of applications. */
export function createSecrets(options: {
  store: ApplicationStore;
  authority: Authority;
  writes: Pick<ApplicationWrites, 'revoke'>;
  accounts: { find: FindOwner };
  audit: Pick<Audit, 'record'>;
  notifyCredential: NotifyCredential;
  limitCredentials: LimitCredentials;
  holds: GivenCredentials['holds'];
}): ApplicationSecrets {
  const { store, audit, authority, writes, holds } = options;
  const recordSecretUse = createLastUsedRecorder((ids, use) => {
    const [id = '', secretId = ''] = ids.split(' ');
    return store.credentialUsed(id, 'secrets', secretId, use);
  });
  const secretUsed: ApplicationSecrets['secretUsed'] = (id, secretId, address) =>
    recordSecretUse(`${id} ${secretId}`, address);
  const record = (manager: Manager, action: AuditAction, client: string, details: object) =>
    recordBy(manager, audit, { action, client, details });

  return {
    async addSecret(manager, id, { expiresIn, label }) {
      const problems =
        label === undefined ? [] : nameProblems(label).map((it) => ({ ...it, field: 'label' }));
      if (problems.length > 0) throw invalidFields(problems);
      const application = await findManaged(options, manager, id, 'developer');
      if (!isConfidential(application)) {
        throw new ServiceError('invalid', `An application of type ${application.type} cannot keep a secret.`);
      }
      await options.limitCredentials(application, manager);
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
  };
}
