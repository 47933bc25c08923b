import { isDeepStrictEqual } from 'node:util';
import type { AddressLimiter } from '@gatehouse/api/http/rate-limit';
import { invalidFields } from '@gatehouse/api/http/schema';
import type { FieldProblem } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import type { AuditAction } from '@gatehouse/domain/audit-actions';
import { unauthenticated } from '@gatehouse/tokens/caller';
import type { Static } from 'typebox';
import {
  type Application,
  type ApplicationStore,
  findSecret,
  hashSecret,
  isConfidential,
  MAX_APPLICATIONS,
  makeSecret,
  mayHaveApiKeys,
  newApplication,
} from '../../core/applications/application.ts';
import type { ApplicationKeys } from '../../core/applications/application-keys.ts';
import { scopeProblems, settingsProblems } from '../../core/applications/application-rules.ts';
import type { ApplicationWrites } from '../../core/applications/application-writes.ts';
import type { NotifyCredential } from '../../core/applications/new-credential-notice.ts';
import { lowerRole, withinCeiling } from '../../core/applications/ownership.ts';
import type { Audit, Origin } from '../../core/audit/audit.ts';
import type { Authority, Giver } from '../../core/authority/authority.ts';
import { retried } from '../../core/optimistic-writes.ts';
import { type ClientMetadata, type RequestedClient, readClientMetadata } from './client-metadata.ts';
import { endOf, type RegistrationExpiry } from './expiry.ts';
import {
  type AuthMethod,
  isRegistrationToken,
  isSelfManaged,
  type Registration,
  type RegistrationStore,
} from './registration.ts';
import type { RegistrationToken, RegistrationTokenStore } from './registration-token.ts';

/** The scopes that a client without an owner may ask for: the identity of the person, and nothing else. */
export const OPEN_SCOPES = ['openid', 'profile', 'email', 'read:profile'];

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
  /** Registers a public client that belongs to nobody. Throws `rate_limited`, too. */
  registerOpenly(metadata: Metadata, origin: Origin): Promise<RegisteredClient>;
  /**
   * The client with its registration access token. Throws `unauthenticated` when that is not the token, or the client is gone or
   * was transferred (RFC 7592 §2.1).
   */
  read(id: string, token: string): Promise<RegisteredClient>;
  /**
   * Replaces the metadata of a client, and its registration access token (RFC 7592 §2.2). What the metadata leaves out is
   * removed. Throws as register() does.
   */
  change(
    id: string,
    token: string,
    metadata: Metadata & { client_id: string; client_secret?: string },
    origin: Origin,
  ): Promise<RegisteredClient>;
  /** Ends a client with all that was issued to it (RFC 7592 §2.3). */
  remove(id: string, token: string, origin: Origin): Promise<void>;
};

type RegistrationOptions = {
  registrations: RegistrationStore;
  tokens: RegistrationTokenStore;
  applicationStore: Pick<ApplicationStore, 'insert' | 'insertIfAbsent' | 'findNow'>;
  applicationWrites: Pick<ApplicationWrites, 'change'>;
  expiry: Pick<RegistrationExpiry, 'end' | 'limitUnused'>;
  /** Counts by address what clients of nobody do. */
  openRegistrationLimiter: Pick<AddressLimiter, 'count'>;
  extensions: { applicationKeys: readonly Pick<ApplicationKeys, 'hasAny'>[] };
  authority: Pick<Authority, 'givenBy' | 'giverOf'>;
  notifyCredential: NotifyCredential;
  audit: Pick<Audit, 'record'>;
};

/** The use cases of clients that register themselves (RFC 7591). They are applications, by the rules of all others. */
export function createRegistrations(options: RegistrationOptions): Registrations {
  const {
    registrations,
    tokens,
    applicationWrites: writes,
    audit,
    expiry,
    openRegistrationLimiter,
  } = options;
  const { grantable, authenticate } = createTokenChecks(options);

  /**
   * Records what a client, which is nobody, has done to itself. What strangers do to clients that nobody has used would only fill
   * the audit log.
   */
  async function record(
    action: AuditAction,
    { id: client, owner, lastUse }: Application,
    origin: Origin,
    details: object = {},
  ): Promise<void> {
    if (owner === null && lastUse === null) return;
    const subject = owner === null ? {} : { subject: owner };
    await audit.record({ action, client, origin, actor: null, ...subject, details: { ...details } });
  }

  return {
    async register(metadata, initialToken, origin) {
      const initial = await tokens.take(hashSecret(initialToken));
      if (initial === undefined) {
        const message =
          'This initial access token has expired, was revoked or is used up. Ask for another one.';
        throw unauthenticated(message, 'invalid_token');
      }
      const { id: registration_token, owner, ownerEpoch, ownerRole, scopes, machines } = initial;
      const client = await grantable('registration_token', initial)
        .then((granted) =>
          create(options, metadata, { owner, ownerEpoch, ownerRole, scopes, machines, ...granted }),
        )
        .catch(async (error: unknown) => {
          await tokens.giveBack(registration_token);
          throw error;
        });
      const { application } = client;
      if (client.secret !== undefined) options.notifyCredential(application, { what: 'a client secret' });
      if (application.jwks !== undefined) options.notifyCredential(application, { what: 'public keys' });
      const { type } = application;
      const details = { type, scopes: application.scopes, registration_token };
      await record('application.created', application, origin, details);
      return client;
    },

    async registerOpenly(metadata, { address }) {
      await openRegistrationLimiter.count(address);
      const bounds = {
        owner: null,
        ownerEpoch: 0,
        ownerRole: 'user',
        scopes: OPEN_SCOPES,
        machines: false,
      } as const;
      const client = await create(options, metadata, { ...bounds, allowed: OPEN_SCOPES });
      await expiry.limitUnused();
      return client;
    },

    async read(id, token) {
      const { registration, application } = await authenticate(id, token);
      return { registration, application, token };
    },

    async change(id, token, metadata, origin) {
      const first = await authenticate(id, token);
      const { registration } = first;
      if (registration.owner === null) await openRegistrationLimiter.count(origin.address);
      const { authMethod } = await changedClient(options, first, metadata);
      const { secret: newToken, hash: tokenHash } = makeSecret();
      const next = { ...registration, tokenHash, authMethod };
      // Before the change: of several at once with the same token, one gets the next, and the others change nothing.
      if (!(await registrations.replaceToken(registration, next))) {
        throw unauthenticated(
          'Another request has replaced this registration access token.',
          'invalid_token',
        );
      }
      const { before, application } = await retried(async () => {
        const current = await authenticate(id, newToken);
        const { application: before } = current;
        const { settings } = await changedClient(options, current, metadata);
        const application = await writes.change(before, settings);
        return application && { before, application };
      }).catch(async (error: unknown) => {
        await registrations.replaceToken(next, registration);
        throw error;
      });
      const { jwks } = application;
      const fields = differences(before, application);
      if (jwks !== undefined && fields.includes('jwks'))
        options.notifyCredential(application, { what: 'public keys' });
      await record('application.changed', application, origin, { fields, scopes: application.scopes });
      return { registration: next, application, token: newToken };
    },

    async remove(id, token, origin) {
      const { application } = await authenticate(id, token);
      await expiry.end(application);
      await record('application.deleted', application, origin);
    },
  };
}

/** Finds the owner and the scopes behind the tokens of clients. */
function createTokenChecks({ registrations, applicationStore, authority }: RegistrationOptions) {
  /** The scopes that a token can still give to a client, and its owner. Throws `unauthenticated` once it has ended. */
  async function grantable(
    kind: 'registration_token' | 'registration_access_token',
    {
      owner: by,
      ownerEpoch: epoch,
      ownerRole,
      scopes,
    }: Pick<RegistrationToken, 'owner' | 'ownerEpoch' | 'ownerRole' | 'scopes'>,
  ): Promise<{ allowed: string[]; giver: Giver }> {
    const giver = await authority.giverOf(kind, { by, epoch });
    if (giver === undefined) {
      throw unauthenticated('This token has ended. Ask its owner for another one.', 'invalid_token');
    }
    const role = lowerRole(giver.role, ownerRole);
    return { allowed: withinCeiling(scopes, role), giver: { ...giver, role } };
  }

  /** The client whose registration access token this is, and the scopes that it may have. */
  async function authenticate(id: string, token: string) {
    const registration = await registrations.find(id);
    const isToken = registration !== undefined && isRegistrationToken(registration, token);
    const application = isToken ? await applicationStore.findNow(id) : undefined;
    if (!isToken || application === undefined || !isSelfManaged(registration, application)) {
      throw unauthenticated(
        'This is not the registration access token of a registered client.',
        'invalid_token',
      );
    }
    const { scopes, owner, registrableScopes = registration.scopes } = application;
    const { ownerEpoch, ownerRole } = registration;
    // One of nobody asks for what all such clients may. Another one keeps what it has: its owner, who alone gives it more, may have
    // revoked the token for its registration.
    if (owner === null) {
      const allowed = [...new Set([...registrableScopes, ...scopes])];
      return { registration, application, allowed, giver: undefined };
    }
    const { giver } = await grantable('registration_access_token', { owner, ownerEpoch, ownerRole, scopes });
    return { registration, application, allowed: scopes, giver };
  }

  return { grantable, authenticate };
}

type Authenticated = Awaited<ReturnType<ReturnType<typeof createTokenChecks>['authenticate']>>;

/** @param options.giver the owner as the token was checked: what ends the token in the meantime ends the credentials as well */
function newClient(
  authority: RegistrationOptions['authority'],
  { type, settings, authMethod }: RequestedClient,
  { owner, scopes, giver }: Pick<Registration, 'owner' | 'scopes'> & { giver: Giver | undefined },
) {
  const given = giver && authority.givenBy('client_secret', giver);
  const { secret, ...stored } = makeSecret({ given });
  const withSecret = isConfidential({ type }) && authMethod !== 'private_key_jwt';
  const id = newId('app');
  // Libraries that register their clients read claims as the specification has them (OpenID Connect Core §5.1).
  const profiles = { userinfo: 'openid' } as const;
  const application = newApplication(
    {
      ...settings,
      id,
      type,
      owner,
      profiles,
      registrableScopes: scopes,
      jwksGiven: settings.jwks && given,
    },
    withSecret ? stored : undefined,
  );
  return { application, ...(withSecret ? { secret } : {}) };
}

/** The client that the metadata makes of one. Throws `invalid`. */
async function changedClient(
  { authority, extensions }: RegistrationOptions,
  { application: before, registration, allowed, giver }: Authenticated,
  metadata: Parameters<Registrations['change']>[2],
) {
  const { client_id: id, client_secret: secret } = metadata;
  const { owner, machines } = registration;
  const requested = readClientMetadata(metadata, { allowed, machines, isOfNobody: owner === null });
  const { type, authMethod } = requested;
  const isPublic = !isConfidential(before);
  const { lockedSettings = [] } = before;
  const locked = Object.fromEntries(
    [...lockedSettings, ...(lockedSettings.includes('jwks') ? ['jwksGiven'] : [])].map((name) => [
      name,
      before[name as keyof Application],
    ]),
  );
  // A website that becomes a program is one from now on: people are asked about it each time (RFC 8252 §8.6).
  const settings = {
    ...requested.settings,
    type: before.type === 'spa' ? type : before.type,
    jwksGiven: requested.settings.jwks && giver && authority.givenBy('public_keys', giver),
    // RFC 7592 §2.2: the response says what it keeps.
    ...locked,
  };
  const next = { ...before, ...settings };
  const problems: FieldProblem[] = [];
  const require = (holds: boolean, field: string, message: string) => {
    if (!holds) problems.push({ field, message });
  };
  require(id === before.id, 'client_id', 'must be that of the registered client');
  // §2.2: a client cannot choose its secret.
  require(secret === undefined ||
    findSecret(before, secret) !== undefined, 'client_secret', 'must be the current one, or left out');
  const isSameMethod = credentialOf(authMethod) === credentialOf(registration.authMethod);
  require(isSameMethod, 'token_endpoint_auth_method', 'cannot be changed. Register another client.');
  require(type === before.type ||
    isPublic, 'grant_types', 'would make another type of client. Register another client.');
  if (mayHaveApiKeys(before) && !mayHaveApiKeys(next)) {
    for (const keys of extensions.applicationKeys) {
      const message = 'cannot be set while the client has API keys, which would work without a proof';
      require(!(await keys.hasAny(before.id)), 'dpop_bound_access_tokens', message);
    }
  }
  if (problems.length > 0) throw invalidFields(problems);
  requireValid(next, allowed);
  return { settings, authMethod };
}

/** Makes an application with a registration. Throws `invalid`. */
async function create(
  { registrations, applicationStore, authority }: RegistrationOptions,
  metadata: Metadata,
  by: Pick<Registration, 'owner' | 'ownerEpoch' | 'ownerRole' | 'scopes' | 'machines'> & {
    allowed: readonly string[];
    giver?: Giver;
  },
): Promise<RegisteredClient> {
  const { allowed, giver, ...bounds } = by;
  const { owner } = bounds;
  const requested = readClientMetadata(metadata, { ...by, isOfNobody: owner === null });
  const { application, ...credentials } = newClient(authority, requested, { ...bounds, giver });
  requireValid(application, allowed);
  const { id, createdAt } = application;
  const { secret: token, hash: tokenHash } = makeSecret();
  const registration: Registration = {
    ...{ ...bounds, id, tokenHash, createdAt, authMethod: requested.authMethod },
    ...{ isUsed: false, checkAt: endOf(application) },
  };
  // First: an application without one would never expire.
  await registrations.insert(registration);
  const insert = owner === null ? applicationStore.insertIfAbsent : applicationStore.insert;
  if (!(await insert(application))) {
    await registrations.remove(id);
    const message = `cannot register: the owner of the token already has ${MAX_APPLICATIONS} applications`;
    throw invalidFields([{ field: 'The client', message }]);
  }
  return { ...credentials, application, registration, token };
}

/** The settings that a change has changed. */
function differences(before: Application, after: Application): string[] {
  const { updatedAt: _, consentEpoch: __, epoch: ___, ...settings } = after;
  return Object.entries(settings).flatMap(([name, value]) =>
    isDeepStrictEqual(value, before[name as keyof Application]) ? [] : [name],
  );
}

/** The kind of credential that a client needs for a method. */
function credentialOf(method: AuthMethod): 'none' | 'secret' | 'keys' {
  if (method === 'none') return 'none';
  return method === 'private_key_jwt' ? 'keys' : 'secret';
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
