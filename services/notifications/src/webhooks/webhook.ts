import type { FieldProblem } from '@gatehouse/core/errors';
import { isUserId } from '@gatehouse/core/ids';
import {
  boolean,
  date,
  type EntityOf,
  id,
  type ListFieldOf,
  listOf,
  number,
  oneOf,
  text,
  value,
} from '@gatehouse/domain/fields';
import type { IfVersion } from '@gatehouse/domain/if-version';
import { hasInvisibleCharacters } from '@gatehouse/domain/invisible-characters';
import type { ListSource } from '@gatehouse/domain/list-query';
import { WEBHOOK_STATUSES } from '@gatehouse/domain/webhook-fields';
import type { RequestedBy } from '@gatehouse/server/requests';

export const PAUSE_REASONS = ['owner', 'failing', 'gone', 'recovery', 'credential', 'backlog'] as const;

/** The reasons why somebody could make a webhook, or resume it: it holds only while they last (see webhook-authority.ts). */
export type Basis = {
  /** The person that owned the application then, or whose webhook it is; null if there is none. */
  owner: string | null;
  /** The epochs of that person then. */
  recovery: number;
  authority: number;
  /**
   * The id of the API key, client secret or public keys with which it was made; null where the person used Gatehouse itself, or was
   * signed in.
   */
  keyId: string | null;
  /** The giver of that credential, and the epoch of their account. */
  giver?: { id: string | null; epoch: number };
  /** The scopes of the key or token. Undefined for first-party tokens. */
  scopes?: readonly string[];
};

/** The events since a time that are delivered to a webhook again, some at a time. A webhook has one replay at most. */
export type Replay = {
  id: string;
  from: Date;
  /** When what it delivers had been stored. */
  until: Date;
  /** The id of the last event whose delivery was made; at first, an id below those of all its events. */
  after: string;
  /** The number of events when the replay began, and the number for which there are deliveries. */
  events: number;
  done: number;
  startedAt: Date;
  /** When deliveries were made last. */
  movedAt: Date;
  endedAt: Date | null;
  /** Why it ended before its last event. */
  reason: string | null;
};

/** An endpoint of somebody who owns applications, that is told of events. */
export const WEBHOOK = {
  id: id(),
  /** The person, or the trusted application. */
  owner: text().list(),
  /** The person or the application whose rights decide which events are delivered. */
  reader: text().list(),
  url: text(),
  /** Types of events, groups of them such as `order.*`, or `*`. */
  events: value<readonly string[]>(),
  description: text().default(null),
  /** Whether events about the same thing are delivered one after the other, in their order. */
  ordered: boolean().default(false),
  /** Whether it cannot be deleted. */
  protected: boolean().default(false),
  status: oneOf(WEBHOOK_STATUSES).list({ mostCommon: 'active' }),
  pauseReason: oneOf(PAUSE_REASONS).default(null),
  basis: value<Basis>(),
  /** Its number below the limit, which no other webhook of the owner has. */
  slot: number().default(null),
  /** The slot among the webhooks that a member made for the owner; null once somebody else has taken the webhook over. */
  memberSlot: number().default(null),
  /** The latest first; those that are live all sign. */
  secrets: listOf({ sealed: text(), endsAt: date().default(null) }),
  /** The last replay, or the one that is under way. Other writes leave it as it is. */
  replay: value<Replay>().default(null),
  version: number().default(0),
  createdAt: date().list(),
  updatedAt: date(),
};
export type Webhook = EntityOf<typeof WEBHOOK>;
/** The deliveries of a webhook that ended in the last 24 hours, without those that were skipped, and how many succeeded. */
export type LastDay = { ended: number; succeeded: number };
export type WebhookField = ListFieldOf<typeof WEBHOOK>;
export type NewWebhook = Pick<Webhook, 'url' | 'events' | 'description' | 'ordered' | 'protected'>;
export type WebhookChanges = Partial<NewWebhook> & { status?: Webhook['status'] };
export type PauseReason = (typeof PAUSE_REASONS)[number];
/** The parts of a webhook that say whether it holds. */
export type Held = Pick<Webhook, 'id' | 'owner' | 'reader' | 'basis'>;

/** Something that was done to a webhook, for identity's audit log. */
export type WebhookAction = {
  action: 'webhook.created' | 'webhook.changed' | 'webhook.paused' | 'webhook.removed';
  details: {
    webhook: string;
    host: string;
    events?: readonly string[];
    status?: Webhook['status'];
    reason?: PauseReason;
    /** The member of the application whose credential the webhook rests on. */
    given_by?: string;
  };
  by: RequestedBy;
  /** The person to whom the webhook belongs. */
  subject?: string;
};

/** `giver`: the member whose credential was used, if any; by default the member who made the webhook. */
export function actionOn(
  webhook: Webhook,
  action: WebhookAction['action'],
  by: RequestedBy,
  giver: string | null | undefined = memberOf(webhook),
): WebhookAction {
  const { id, url, events, status } = webhook;
  const subject = personOf(webhook);
  const { host } = new URL(url);
  const details = {
    ...{ webhook: id, host, ...(giver && { given_by: giver }) },
    ...(action === 'webhook.removed' ? {} : { events, status }),
  };
  return { action, details, by, ...(subject && { subject }) };
}

/** The member who gave the credential by which it was made; undefined if it was the person to whom it belongs. */
export const memberOf = (webhook: Pick<Webhook, 'owner' | 'basis'>): string | undefined => {
  const giver = webhook.basis.giver?.id ?? undefined;
  return giver === personOf(webhook) ? undefined : giver;
};

/** The person whose turns and limits apply to the deliveries: the member who made the webhook, or else the owner of the application. */
export const deliveryOwnerOf = (webhook: Pick<Webhook, 'owner' | 'basis'>): string =>
  memberOf(webhook) ?? webhook.basis.owner ?? webhook.owner;

/** The person to whom a webhook belongs, by way of an application or not. */
export const personOf = ({ owner, basis }: Pick<Webhook, 'owner' | 'basis'>): string | undefined =>
  basis.owner ?? (isUserId(owner) ? owner : undefined);

export type WebhookStore = {
  within(owner: string): ListSource<WebhookField, Webhook>;
  findById(id: string, owner?: string): Promise<Webhook | undefined>;
  findByIds(ids: readonly string[]): Promise<Webhook[]>;
  /** Returns the limit that leaves no room, if there is one. The action is stored in the same write, as with the writes below. */
  insert(webhook: Webhook, action: WebhookAction): Promise<'perOwner' | 'perMember' | undefined>;
  /** Undefined leaves it as it is. Throws `not_found`, or `precondition_failed` unless it is at one of the versions. */
  update(
    id: string,
    decide: (webhook: Webhook) => Webhook | undefined,
    ifVersion?: IfVersion,
    actionOf?: (before: Webhook, after: Webhook) => WebhookAction | undefined,
  ): Promise<Webhook | undefined>;
  remove(id: string, ifVersion?: IfVersion, action?: WebhookAction): Promise<void>;
  /** The active ones that are told of events of this type. */
  subscribed(type: string): Promise<Held[]>;
  /** Resolves to their ids. */
  removeAllOf(owner: string): Promise<string[]>;
  all(): AsyncIterable<Webhook>;
};

export const WEBHOOK_LIMITS = {
  perOwner: 100,
  perMember: 20,
  url: 2000,
  description: 500,
  overlapSeconds: 7 * 86_400,
};

/** The words by which a webhook subscribes to an event of this type. */
export const wordsOf = (type: string): string[] => [type, `${type.split('.')[0]}.*`, '*'];

/**
 * The problems of a new webhook, or of changes.
 *
 * @param options.types the types of events
 * @param options.isAllowedHost whether a host without a name in public, or this machine, may be that of an endpoint
 */
export function webhookProblems(
  { url, events, description }: Partial<NewWebhook>,
  options: { types: readonly string[]; isAllowedHost: (hostname: string) => boolean },
): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const add = (field: string, message: string) => void problems.push({ field, message });
  if (url !== undefined) {
    const parsed = url.length <= WEBHOOK_LIMITS.url && !/[\s\\]/.test(url) ? URL.parse(url) : null;
    const isLocal = parsed?.protocol === 'http:' && isLoopback(parsed.hostname);
    if (parsed === null || !(parsed.protocol === 'https:' || isLocal) || parsed.username + parsed.password) {
      add('url', `must be an https URL of at most ${WEBHOOK_LIMITS.url} characters, without a password`);
    } else if (!options.isAllowedHost(parsed.hostname)) add('url', 'must lead to the public internet');
  }
  const known = new Set(options.types.flatMap(wordsOf));
  const unknown = events?.find((word) => !known.has(word));
  if (events?.length === 0) add('events', 'must name at least one type of events, or be ["*"]');
  if (unknown !== undefined)
    add('events', `cannot have ${JSON.stringify(unknown.slice(0, 60))}: there is no such type`);
  if ((description?.length ?? 0) > WEBHOOK_LIMITS.description) {
    add('description', `must have at most ${WEBHOOK_LIMITS.description} characters`);
  }
  if (hasInvisibleCharacters(description ?? '')) {
    add('description', 'must not contain invisible characters');
  }
  return problems;
}

const isLoopback = (hostname: string) => /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
