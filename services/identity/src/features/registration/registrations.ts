import { invalidFields } from '@gatehouse/api/http/schema';
import { newId } from '@gatehouse/core/ids';
import { unauthenticated } from '@gatehouse/tokens/caller';
import type { Static } from 'typebox';
import {
  type Application,
  type ApplicationStore,
  hashSecret,
  isConfidential,
  MAX_APPLICATIONS,
  makeSecret,
  newApplication,
} from '../../core/applications/application.ts';
import { scopeProblems, settingsProblems } from '../../core/applications/application-rules.ts';
import type { NotifyCredential } from '../../core/applications/applications.ts';
import { type FindOwner, withinCeiling } from '../../core/applications/ownership.ts';
import type { Audit, Origin } from '../../core/audit/audit.ts';
import { type ClientMetadata, type RequestedClient, readClientMetadata } from './client-metadata.ts';
import type { Registration, RegistrationStore } from './registration.ts';
import type { RegistrationTokenStore } from './registration-token.ts';

type Metadata = Static<typeof ClientMetadata>;

/** A registered client with its credentials, which are shown only now. */
export type RegisteredClient = {
  application: Application;
  registration: Registration;
  /** The registration access token. */
  token: string;
  secret?: string;
};

export type Registrations = {
  /** Registers a client with an initial access token. Throws `unauthenticated`, and `invalid` with what is wrong in the metadata. */
  register(metadata: Metadata, initialToken: string, origin: Origin): Promise<RegisteredClient>;
};

/** The use cases of clients that register themselves (RFC 7591). They are applications, by the rules of all others. */
export function createRegistrations(options: {
  registrations: RegistrationStore;
  tokens: RegistrationTokenStore;
  applicationStore: Pick<ApplicationStore, 'insert'>;
  accounts: { find: FindOwner };
  notifyCredential: NotifyCredential;
  audit: Pick<Audit, 'record'>;
}): Registrations {
  const { registrations, tokens, applicationStore, audit } = options;

  /** What the owner of a token may give to an application. Throws `unauthenticated` unless the account is active. */
  async function grantable(owner: string, scopes: readonly string[]): Promise<string[]> {
    const account = await options.accounts.find(owner);
    if (account?.status !== 'active') {
      throw unauthenticated('The owner of this token has no active account.', 'invalid_token');
    }
    return withinCeiling(scopes, account.role);
  }

  function newClient({ type, settings, authMethod }: RequestedClient, owner: string) {
    const { secret, ...stored } = makeSecret();
    const withSecret = isConfidential({ type }) && authMethod !== 'private_key_jwt';
    const id = newId('app');
    const application = newApplication({ ...settings, id, type, owner }, withSecret ? stored : undefined);
    return { application, ...(withSecret ? { secret } : {}) };
  }

  return {
    async register(metadata, initialToken, origin) {
      const initial = await tokens.take(hashSecret(initialToken));
      if (initial === undefined) {
        const message =
          'This initial access token has expired, was revoked or is used up. Ask for another one.';
        throw unauthenticated(message, 'invalid_token');
      }
      const { owner } = initial;
      let id: string | undefined;
      try {
        const allowed = await grantable(owner, initial.scopes);
        const requested = readClientMetadata(metadata, { allowed });
        const client = newClient(requested, owner);
        const { application } = client;
        requireValid(application, allowed);
        const { secret: token, hash: tokenHash, createdAt } = makeSecret();
        const registration: Registration = {
          ...{ id: application.id, tokenHash, owner, scopes: initial.scopes },
          ...{ authMethod: requested.authMethod, createdAt },
        };
        id = application.id;
        // First: an application without one would stay for ever.
        await registrations.insert(registration);
        if (!(await applicationStore.insert(application))) {
          const message = `cannot register: the owner of the token already has ${MAX_APPLICATIONS} applications`;
          throw invalidFields([{ field: 'The client', message }]);
        }
        id = undefined;
        if (client.secret !== undefined) options.notifyCredential(application, { what: 'a client secret' });
        if (application.jwks !== undefined) options.notifyCredential(application, { what: 'public keys' });
        const { type, scopes } = application;
        await audit.record({
          ...{ action: 'application.created', client: application.id, subject: owner },
          ...{ origin, actor: null, details: { type, scopes, registration_token: initial.id } },
        });
        return { ...client, registration, token };
      } catch (error) {
        if (id !== undefined) await registrations.remove(id);
        await tokens.giveBack(initial.id);
        throw error;
      }
    },
  };
}

/** Throws `invalid`, with the names of the metadata, unless an application may be like this. */
function requireValid(application: Application, allowed: readonly string[]): void {
  const problems = [
    ...settingsProblems(application),
    ...scopeProblems(application.scopes, { type: application.type, allowed }),
  ];
  if (problems.length === 0) return;
  throw invalidFields(
    problems.map(({ field, message }) => ({ field: METADATA_NAMES[field] ?? field, message })),
  );
}

/** The names of the fields of applications that have another one in RFC 7591 §2. */
const METADATA_NAMES: Partial<Record<string, string>> = {
  name: 'client_name',
  scopes: 'scope',
  device_flow: 'grant_types',
};
