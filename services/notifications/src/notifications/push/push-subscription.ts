import type { FieldProblem } from '@gatehouse/core/errors';
import { date, type EntityOf, group, id, type ListFieldOf, number, text } from '@gatehouse/domain/fields';
import type { ListSource } from '@gatehouse/domain/list-query';

/** The epochs and ids of a credential, which a revocation may name. */
const CREDENTIAL = {
  clientId: text(),
  grantId: text().default(null),
  epoch: group({ client: number().stored('client_epoch'), subject: number().stored('subject_epoch') }),
};
export type PushCredential = EntityOf<typeof CREDENTIAL>;

/** A subscription of a browser (https://www.w3.org/TR/push-api/#pushsubscription-interface), of one person. */
export const PUSH_SUBSCRIPTION = {
  id: id(),
  userId: text().list(),
  /** A capability: anybody who knows it, and has our VAPID key, can send to the browser. */
  endpoint: text(),
  keys: group({ p256dh: text(), auth: text() }),
  /** The credential that registered it, with which it ends. */
  by: group(CREDENTIAL),
  version: number().default(0),
  createdAt: date().list(),
  updatedAt: date(),
};
export type PushSubscription = EntityOf<typeof PUSH_SUBSCRIPTION>;

/** Revoked credentials: those with a lower epoch or, without one, all with this id. */
export type Revoked = { kind: 'grant' | 'client' | 'subject'; id: string; epoch?: number };

export type PushSubscriptionField = ListFieldOf<typeof PUSH_SUBSCRIPTION>;
export type NewPushSubscription = Pick<PushSubscription, 'endpoint' | 'keys'>;

export type PushSubscriptionStore = {
  within(userId: string): ListSource<PushSubscriptionField, PushSubscription>;
  findById(id: string, userId: string): Promise<PushSubscription | undefined>;
  /** All of a person, or those that one client has registered. */
  ofUser(userId: string, clientId?: string): Promise<PushSubscription[]>;
  /**
   * Stores a subscription. One with the same endpoint is replaced, also that of another person if its keys are the same: the browser
   * has one user at a time, and nobody else knows both. Else throws `conflict`. The oldest that this client has registered for the
   * person go when there are more than `max`.
   */
  put(subscription: PushSubscription, max: number): Promise<PushSubscription>;
  /** Resolves to false when the person has none with this id. */
  remove(id: string, userId: string): Promise<boolean>;
  /** Removes all of a person. */
  removeAllOf(userId: string): Promise<void>;
  /** Removes those whose credentials are revoked. */
  removeRevoked(revoked: readonly Revoked[]): Promise<void>;
  /** The next subscriptions whose credentials have not been checked since; registering one counts as a check. */
  longestUnchecked(since: Date, limit: number): Promise<PushSubscription[]>;
  /** Notes that their credentials were in force at this time. */
  checked(subscriptions: readonly PushSubscription[], at: Date): Promise<void>;
  /** Removes them, except for those that have been registered again meanwhile. */
  removeUnchanged(subscriptions: readonly PushSubscription[]): Promise<void>;
};

export const PUSH_LIMITS = { perClient: 10, endpoint: 2000 };

/** @param isAllowedHost whether a host without a name, or this machine, may be an endpoint's */
export function subscriptionProblems(
  { endpoint, keys }: NewPushSubscription,
  isAllowedHost: (hostname: string) => boolean,
): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const url = endpoint.length <= PUSH_LIMITS.endpoint ? URL.parse(endpoint) : null;
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '' || /[\s\\]/.test(endpoint)) {
    const message = `must be an https URL of at most ${PUSH_LIMITS.endpoint} characters`;
    problems.push({ field: 'endpoint', message });
  } else if (!isAllowedHost(url.hostname)) {
    problems.push({ field: 'endpoint', message: 'must lead to the public internet' });
  }
  // A point of P-256, uncompressed (SEC 1 §2.3.3), and 16 bytes (RFC 8291 §3.2).
  const p256dh = bytesOf(keys.p256dh);
  if (p256dh?.length !== 65 || p256dh[0] !== 4) {
    problems.push({ field: 'keys.p256dh', message: 'must be a public key of P-256 in base64url' });
  }
  if (bytesOf(keys.auth)?.length !== 16) {
    problems.push({ field: 'keys.auth', message: 'must be 16 bytes in base64url' });
  }
  return problems;
}

function bytesOf(text: string): Buffer | undefined {
  return /^[\w+/-]{1,200}={0,2}$/.test(text) ? Buffer.from(text, 'base64url') : undefined;
}
