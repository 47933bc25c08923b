import { timingSafeEqual } from 'node:crypto';
import { boolean, date, type EntityOf, id, number, oneOf, text, value } from '@gatehouse/domain/fields';
import { type Application, hashSecret } from '../../core/applications/application.ts';

/** How clients authenticate at the token endpoint (RFC 7591 §2). */
export const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const;
export type AuthMethod = (typeof AUTH_METHODS)[number];

/** The registration of an application that has registered itself, beside the application. */
export const REGISTRATION = {
  /** The client_id. */
  id: id(),
  /** The hash of the registration access token, with which the client manages its registration (RFC 7592 §1.2). */
  tokenHash: text(),
  /** The owner at the registration; null for a client that needed no initial access token. */
  owner: value<string | null>(),
  /** The sum of the epochs of the owner's account that it rests on (see AUTHORITY). */
  ownerEpoch: number().default(0),
  /** Their role when the registration token was made. */
  ownerRole: oneOf(['user', 'editor', 'admin']),
  /** Whether the client may be a machine. */
  machines: boolean(),
  /** The scopes of the registration token. A client of nobody may ask for all of them, unless an admin has removed some (`registrableScopes`). */
  scopes: value<readonly string[]>(),
  authMethod: oneOf(AUTH_METHODS),
  /** Whether it is known that tokens were issued to it. */
  isUsed: boolean(),
  createdAt: date(),
  /** When it is looked at next whether anybody still uses it. */
  checkAt: date(),
};
export type Registration = EntityOf<typeof REGISTRATION>;

/** The store of registrations. Writes are durable when they resolve. */
export type RegistrationStore = {
  insert(registration: Registration): Promise<void>;
  find(id: string): Promise<Registration | undefined>;
  /** Replaces the registration access token, unless that was done since the registration was read; returns whether it did. */
  replaceToken(read: Registration, changes: Pick<Registration, 'tokenHash' | 'authMethod'>): Promise<boolean>;
  remove(id: string): Promise<void>;
  removeAllOf(owner: string): Promise<void>;
  /** Those to be looked at now; some at a time. */
  due(): Promise<Registration[]>;
  /** Those of nobody of which no use is known, except so many of the latest; some at a time. */
  unusedWithoutOwner(except: number): Promise<Registration[]>;
  checked(id: string, result: Pick<Registration, 'isUsed' | 'checkAt'>): Promise<void>;
};

/**
 * Whether the application still manages its registration. A transfer ends that for good, also if the application is given back: a
 * registered application begins with the consent epoch 0, and each transfer raises it.
 */
export function isSelfManaged(
  { owner }: Pick<Registration, 'owner'>,
  application: Pick<Application, 'owner' | 'consentEpoch'>,
): boolean {
  return application.owner === owner && application.consentEpoch === 0;
}

/** Whether this is the registration access token, compared in constant time. */
export function isRegistrationToken({ tokenHash }: Registration, token: string): boolean {
  const [given, expected] = [hashSecret(token), tokenHash].map((it) => Buffer.from(it)) as [Buffer, Buffer];
  return given.length === expected.length && timingSafeEqual(given, expected);
}
