import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { newId } from '@gatehouse/core/ids';
import {
  boolean,
  date,
  defaultsOf,
  type EntityOf,
  group,
  id,
  listOf,
  number,
  object,
  oneOf,
  text,
  value,
} from '@gatehouse/domain/fields';
import type { ListSource } from '@gatehouse/domain/list-query';
import type { ProfilePins } from '@gatehouse/domain/profile-pins';
import { GIVEN, type Given } from '../authority/given.ts';

/** One of type resource introspects the tokens that are sent to it (RFC 7662), and reads which of them are revoked. */
export const APPLICATION_TYPES = ['web', 'spa', 'native', 'machine', 'resource'] as const;
export type ApplicationType = (typeof APPLICATION_TYPES)[number];

export const ID_TOKEN_ALGORITHMS = ['RS256', 'ES256'] as const;
export type IdTokenAlgorithm = (typeof ID_TOKEN_ALGORITHMS)[number];

/** Sets of requirements that an application can be held to: that of the FAPI 2.0 Security Profile (Final, 2025). */
export const SECURITY_PROFILES = ['fapi2'] as const;
export type SecurityProfile = (typeof SECURITY_PROFILES)[number];

/** The API profiles that an application has pinned. */
export type Profiles = { readonly [pin in keyof ProfilePins]?: ProfilePins[pin][number] };

/** An API at which an application may act for people: its identifier, and the scopes. */
export type ExchangeRule = { resource: string; scopes: readonly string[] };

/**
 * An authorization server for which an application gets identity assertions (ID-JAG): its issuer, the client ID of the application there, the
 * scopes that it can get, and the only APIs there, if they are listed.
 */
export type AssertionRule = {
  authorization_server: string;
  client_id: string;
  scopes: readonly string[];
  resources?: readonly string[];
};

/** The rule for an API: of identifiers that are the same URL, one is enough. */
export function ruleFor(rules: readonly ExchangeRule[], identifier: string): ExchangeRule | undefined {
  const key = URL.parse(identifier)?.href;
  return rules.find(
    ({ resource }) => resource === identifier || (key !== undefined && URL.parse(resource)?.href === key),
  );
}

/** Public keys of an application (RFC 7517 §5), with which it signs its assertions (private_key_jwt). With a `uri`, those that were fetched there last. */
export type PublicKeySet = { keys: readonly PublicKey[]; uri?: string };
export type PublicKey = { kty: string } & Partial<
  Record<'crv' | 'x' | 'y' | 'n' | 'e' | 'kid' | 'alg' | 'use', string>
>;

/** When something was used last, to the minute, and from which IP address, if that is known. */
const LAST_USE = {
  at: date().stored('last_used_at'),
  address: text().stored('last_used_address').default(null),
};
export type LastUse = EntityOf<typeof LAST_USE>;
/** The field that says so, of what has one. */
export const lastUse = () => group(LAST_USE).default(null);

/** The admin who trusted an application and granted the scopes of that trust, and the epochs on which it rests. */
const TRUST = {
  /** The id of the admin; null when it was the operator. */
  by: text().default(null),
  at: date(),
  /** The sum of the admin's epochs on which it rests. */
  epoch: number().default(0),
  /** The role of the owner at that time: the trust ends when the owner has a lower one. */
  ownerRole: oneOf(['user', 'editor', 'admin']),
};
export type Trust = EntityOf<typeof TRUST>;

/** The hash of a client secret; the secret itself is shown once and not stored. */
export const SECRET = {
  id: text(),
  hash: text(),
  /** The name that its owner gave it. */
  label: text().default(null),
  /** Its last characters, to distinguish it from others; null for one of the operator. */
  lastFour: text().default(null),
  createdAt: date(),
  expiresAt: date().default(null),
  lastUse: lastUse(),
  /** The giver of the secret. Undefined for one of the operator. */
  given: object(GIVEN).optional(),
};
export type ClientSecret = EntityOf<typeof SECRET>;

/** A claim's value in a rule: a text that ends with `*` is a prefix. */
export type RuleValue = string | number | boolean;

/** A rule for the tokens of a trusted issuer by which an application authenticates (RFC 7523 §2.2): it has no secret. */
export const FEDERATED_CREDENTIAL = {
  id: text(),
  name: text(),
  /** The URL of the issuer. */
  issuer: text(),
  subject: text(),
  /** By default, our issuer or the token endpoint. */
  audience: text().default(null),
  /** Pairs, since names of claims are not always names of fields. */
  claims: value<readonly (readonly [name: string, value: RuleValue])[]>(),
  createdAt: date(),
  lastUse: lastUse(),
  given: object(GIVEN),
};
export type FederatedCredential = EntityOf<typeof FEDERATED_CREDENTIAL>;

/** An OAuth client, with further settings of ours. */
export const APPLICATION = {
  /** The client_id. */
  id: id(),
  name: text(),
  type: oneOf(APPLICATION_TYPES),
  /** The user who owns it; null for one that the operator set up. */
  owner: value<string | null>(),
  /** Marked by an admin: it acts as a machine in its own right, not under its owner's role. */
  trusted: boolean(),
  /** The trust, of a trusted application. */
  trust: object(TRUST).optional(),
  /** The scopes that it may request. */
  scopes: value<readonly string[]>(),
  redirectUris: value<readonly string[]>().default([]),
  postLogoutRedirectUris: value<readonly string[]>().default([]),
  profiles: value<Profiles>().default({}),
  /** Whether it may use the implicit flow, which exists for old applications only. */
  legacyImplicit: boolean().default(false),
  /** With keys it authenticates by private_key_jwt, and its secrets are not accepted. */
  jwks: value<PublicKeySet>().optional(),
  jwksGiven: object(GIVEN).optional(),
  /** Where it is notified that somebody has signed out (OpenID Connect Back-Channel Logout §2.2). */
  backchannelLogoutUri: text().optional(),
  /** Whether all its access tokens must be bound to a key (RFC 9449 §5.2). */
  dpopBound: boolean().default(false),
  /** Whether its authorization requests must be pushed (RFC 9126 §6). */
  requirePushedRequests: boolean().default(false),
  /** Whether devices without a browser may ask for people to sign in elsewhere (RFC 8628). */
  deviceFlow: boolean().default(false),
  /** Whether nobody signs in to it without a second factor. */
  requireSecondFactor: boolean().default(false),
  /** The algorithm of its ID tokens and logout tokens (OpenID Connect Registration §2). */
  idTokenAlgorithm: oneOf(ID_TOKEN_ALGORITHMS).default('RS256'),
  /** Whether its ID tokens have the name, the username and the picture, with the scope profile. */
  idTokenProfileClaims: boolean().default(true),
  /** How it looks on pages, and where its links lead (see core/applications/appearance.ts). */
  primaryColor: text().optional(),
  logoUri: text().optional(),
  clientUri: text().optional(),
  policyUri: text().optional(),
  tosUri: text().optional(),
  supportUri: text().optional(),
  /** The APIs for which it may exchange the tokens that were sent to its own API (RFC 8693), and the most scopes there. */
  tokenExchange: value<readonly ExchangeRule[]>().default([]),
  /** The other authorization servers at which it may act for the people who sign in to it. An admin decides. */
  identityAssertions: value<readonly AssertionRule[]>().default([]),
  identityAssertionsGiven: object(GIVEN).optional(),
  /** Whether it cannot be deleted: this has to be switched off first. */
  protected: boolean().default(false),
  /** The security profile that it must follow. */
  securityProfile: oneOf(SECURITY_PROFILES).optional(),
  /** Two can be valid at a time, so that one can be replaced without downtime. */
  secrets: listOf(SECRET),
  federatedCredentials: listOf(FEDERATED_CREDENTIAL).default([]),
  /** When it was given tokens last, or used an API key. */
  lastUse: lastUse(),
  /** Tokens with a lower one are invalid. */
  epoch: number(),
  /** Raised when it gets another owner: what people have allowed it with a lower one has ended. */
  consentEpoch: number().default(0),
  /** The most scopes that a client which manages its own registration may ask for (RFC 7592 §2.2). */
  registrableScopes: value<readonly string[]>().optional(),
  /** The settings, without scopes, that its owner or an admin has changed since: such a client cannot change them any more. */
  lockedSettings: value<readonly string[]>().optional(),
  createdAt: date(),
  updatedAt: date(),
};
export type Application = EntityOf<typeof APPLICATION>;

/** The changes of an application; `undefined` removes an optional value. */
export type ApplicationChanges = Partial<
  Omit<
    Application,
    | 'id'
    | 'type'
    | 'owner'
    | 'trust'
    | 'secrets'
    | 'federatedCredentials'
    | 'lastUse'
    | 'epoch'
    | 'consentEpoch'
    | 'jwksGiven'
    | 'identityAssertionsGiven'
    | 'registrableScopes'
    | 'lockedSettings'
    | 'createdAt'
    | 'updatedAt'
  >
>;

/** The fields that are written with the changes, and nobody can ask for. */
export type AccompanyingChanges = Partial<
  Pick<
    Application,
    | 'trust'
    | 'jwksGiven'
    | 'identityAssertionsGiven'
    | 'registrableScopes'
    | 'lockedSettings'
    | 'secrets'
    | 'federatedCredentials'
    | 'type'
  >
>;

export type ApplicationCache = {
  get(id: string): Application | undefined;
  set(id: string, application: Application): unknown;
  delete(id: string): unknown;
};

/** The filters of lists of applications. `name` holds words, of which the last may be unfinished. */
export type ApplicationField = 'id' | 'owner' | 'name';

/** `over`: it was deleted or has another owner, so that its API keys and what people have allowed it end, too. */
export type DueRevocation = { application: Application; over: boolean };

/** The store of applications. Writes are durable when they resolve. */
export type ApplicationStore = {
  /** Inserts unless an application with this id exists; returns whether it did. */
  insertIfAbsent(application: Application): Promise<boolean>;
  /** Inserts unless its owner has MAX_APPLICATIONS; returns whether it did. */
  insert(application: Application): Promise<boolean>;
  /** From the cache when it was read in the last seconds. */
  findById(id: string): Promise<Application | undefined>;
  /** From the database. */
  findNow(id: string): Promise<Application | undefined>;
  /** In the order of their ids; filtered by an owner, and by words of their names. */
  source: ListSource<ApplicationField, Application>;
  /** In the order of their ids, those after `after`; of all owners when none is given. */
  list(page: {
    owner?: string | undefined;
    after?: string | undefined;
    limit: number;
  }): Promise<Application[]>;
  /**
   * Undefined when it was changed or deleted since it was read. Marks it until revocationWritten(). `shrinks`: raises the
   * epoch, too. The trust is removed from an application that is no longer trusted.
   */
  change(
    read: Application,
    changes: ApplicationChanges & AccompanyingChanges,
    shrinks: boolean,
  ): Promise<Application | undefined>;
  /**
   * Gives the application to another owner, without its secrets, public keys and trust, and raises its epochs. Marks it until
   * revocationWritten(). `full` when the owner has MAX_APPLICATIONS, undefined when it was changed or deleted since it was read.
   */
  transfer(read: Application, owner: string): Promise<Application | 'full' | undefined>;
  /**
   * Raises the epoch and hides the application, until revocationWritten() removes it. Undefined when there is none, or it is
   * not this owner's or has been changed since this time.
   */
  markDeleted(id: string, only?: { owner?: string; updatedAt?: Date }): Promise<Application | undefined>;
  /**
   * Raises the epochs of an owner's applications that are not trusted, and marks each until revocationWritten(). Not those
   * for which this was done for this epoch of the owner's account, so that it can be repeated until it is complete.
   */
  raiseEpochsOf(owner: string, ownerEpoch: number): Promise<void>;
  /** Those of an owner that may exchange tokens. */
  exchanging(owner: string): Promise<Application[]>;
  /** The applications of others in which a person has made something. */
  givenBy(person: string): Promise<Application[]>;
  /** Notes that a person who is not the owner has made something in an application. Durable when it resolves. */
  noteGiver(id: string, person: string): Promise<void>;
  /** The revocation up to this epoch has been written: removes the mark, or the application if it was deleted. */
  revocationWritten(id: string, epoch: number): Promise<void>;
  /** Those, of an owner or of all, whose revocations may not have been written; some at a time. */
  awaitingRevocation(owner?: string): Promise<DueRevocation[]>;
  /** Adds a secret unless there are MAX_SECRETS; returns whether it did, undefined without an application of this owner. */
  addSecret(
    application: Pick<Application, 'id' | 'owner'>,
    secret: ClientSecret,
  ): Promise<boolean | undefined>;
  /** Undefined when there is none. Marks the application until revocationWritten(). */
  removeSecret(id: string, secretId: string): Promise<Application | undefined>;
  /** Adds a credential unless there are MAX_FEDERATED; returns whether it did, undefined without an application of this owner. */
  addFederated(
    application: Pick<Application, 'id' | 'owner'>,
    credential: FederatedCredential,
  ): Promise<boolean | undefined>;
  /** Raises the epoch. Undefined when there is none. Marks the application until revocationWritten(). */
  removeFederated(id: string, credentialId: string): Promise<Application | undefined>;
  /** Notes the keys that were fetched for an application, unless it has another URL by now. */
  noteKeys(id: string, uri: string, keys: readonly PublicKey[]): Promise<void>;
  used(id: string, use: LastUse): Promise<void>;
  /** Of a secret or a federated credential. */
  credentialUsed(
    id: string,
    list: 'secrets' | 'federated_credentials',
    credentialId: string,
    use: LastUse,
  ): Promise<void>;
  /** Drops an application from the cache, as somebody else has changed it. */
  forget(id: string): void;
};

export const MAX_SECRETS = 2;
export const MAX_FEDERATED = 20;
/** For each person. */
export const MAX_APPLICATIONS = 100;

type Draft = Pick<Application, 'id' | 'name' | 'type' | 'owner' | 'scopes'> &
  ApplicationChanges &
  Partial<Pick<Application, 'trust' | 'jwksGiven' | 'identityAssertionsGiven' | 'registrableScopes'>>;

/** A new application, with defaults for what the draft leaves out; `secret` is its first secret. */
export function newApplication(draft: Draft, secret?: ClientSecret): Application {
  const now = new Date();
  return {
    ...defaultsOf(APPLICATION),
    trusted: false,
    ...draft,
    trust: draft.trusted === true ? (draft.trust ?? operatorsTrust(now)) : undefined,
    secrets: secret === undefined ? [] : [secret],
    epoch: 0,
    createdAt: now,
    updatedAt: now,
  };
}

/** The trust in an application that the operator set up: as if it rested on an admin. */
function operatorsTrust(at: Date): Trust {
  return { by: null, at, epoch: 0, ownerRole: 'admin' };
}

/** Whether it can keep a secret (RFC 6749 §2.1); one that cannot is identified but not authenticated. */
export function isConfidential({ type }: Pick<Application, 'type'>): boolean {
  return type !== 'spa' && type !== 'native';
}

/** Whether people sign in to it. */
export function signsPeopleIn({ type }: Pick<Application, 'type'>): boolean {
  return type !== 'machine' && type !== 'resource';
}

/** Whether it may have API keys, which work without a proof: not when its access tokens do not (RFC 9449, FAPI 2.0). */
export function mayHaveApiKeys(application: Pick<Application, 'dpopBound' | 'securityProfile'>): boolean {
  return !application.dpopBound && application.securityProfile === undefined;
}

/** RFC 8628 §3.4. */
export const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

/** RFC 8693 §2.1. */
export const TOKEN_EXCHANGE_GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
/** RFC 7523 §2.1. */
export const JWT_BEARER_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** The grants by which it gets tokens (RFC 7591 §2). */
export function grantTypesOf(
  application: Pick<
    Application,
    'type' | 'legacyImplicit' | 'deviceFlow' | 'redirectUris' | 'tokenExchange' | 'identityAssertions'
  >,
): string[] {
  if (!signsPeopleIn(application)) {
    return ['client_credentials', ...(application.tokenExchange.length === 0 ? [] : [TOKEN_EXCHANGE_GRANT])];
  }
  return [
    ...(application.redirectUris.length === 0 ? [] : ['authorization_code']),
    'refresh_token',
    ...(application.legacyImplicit ? ['implicit'] : []),
    ...(application.deviceFlow ? [DEVICE_CODE_GRANT] : []),
    ...(application.identityAssertions.length === 0 ? [] : [TOKEN_EXCHANGE_GRANT]),
  ];
}

/** A new client secret with its text: 256 random bits in 43 characters. `expiresIn` is in seconds; by default it never expires. */
export function makeSecret(
  options: { expiresIn?: number | undefined; label?: string | undefined; given?: Given | undefined } = {},
) {
  const secret = randomBytes(32).toString('base64url');
  const { expiresIn, label = null, given } = options;
  // 232 of the 256 random bits stay unknown.
  return { ...clientSecretOf(secret, expiresIn), label, lastFour: lastFourOf(secret), given, secret };
}

/** The last characters of a secret, which are stored with its hash. */
export const lastFourOf = (secret: string) => secret.slice(-4);

/** A secret as it is stored. `expiresIn` is in seconds; by default it never expires. */
export function clientSecretOf(secret: string, expiresIn?: number): ClientSecret {
  const now = Date.now();
  return {
    id: newId('sec'),
    hash: hashSecret(secret),
    label: null,
    lastFour: null,
    createdAt: new Date(now),
    expiresAt: expiresIn === undefined ? null : new Date(now + expiresIn * 1000),
    lastUse: null,
    given: undefined,
  };
}

/** A slow hash would add nothing, as a random secret of 256 bits cannot be guessed. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

/** The secrets that have not expired. */
export function liveSecrets({ secrets }: Pick<Application, 'secrets'>): ClientSecret[] {
  return secrets.filter(({ expiresAt }) => expiresAt === null || expiresAt.getTime() > Date.now());
}

/** The id of the public keys of an application, among those of its credentials. */
export const publicKeysId = (clientId: string) => `${clientId}/public-keys`;

/** The unexpired secret that this is, compared in constant time. */
export function findSecret(application: Application, secret: string): ClientSecret | undefined {
  const given = Buffer.from(hashSecret(secret));
  let found: ClientSecret | undefined;
  for (const candidate of liveSecrets(application)) {
    const expected = Buffer.from(candidate.hash);
    if (expected.length === given.length && timingSafeEqual(expected, given)) found = candidate;
  }
  return found;
}
