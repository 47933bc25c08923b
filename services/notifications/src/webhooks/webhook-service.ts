import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { requireUnprotected } from '@gatehouse/core/protection';
import type { JobState } from '@gatehouse/data/job-document';
import type { IfVersion } from '@gatehouse/domain/if-version';
import type { RequestInfo } from '@gatehouse/server/requests';
import type { Caller } from '@gatehouse/tokens/caller';
import { requestedBy } from '@gatehouse/tokens/requested-by';
import type { EventStore } from '../events/event.ts';
import type { FindUnavailable } from '../events/event-resource.ts';
import { EVENT_TYPE_NAMES } from '../events/event-types.ts';
import { type ReadingRights, unavailableReason } from '../events/reading-rights.ts';
import type { Backlogs } from './backlogs.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { Replays } from './replays.ts';
import type { WebhookSecrets } from './secrets.ts';
import {
  actionOn,
  type NewWebhook,
  WEBHOOK_LIMITS,
  type Webhook,
  type WebhookChanges,
  type WebhookStore,
  webhookProblems,
  wordsOf,
} from './webhook.ts';
import type { WebhookAuthority } from './webhook-authority.ts';
import { createWebhookReading } from './webhook-reading.ts';
import { createWebhookSending } from './webhook-sending.ts';

export type WebhookService = ReturnType<typeof createWebhookService>;

type WebhookServiceOptions = Parameters<typeof createWebhookService>[0];

/** The use cases of webhooks. Each is for the owner; for anybody else there is no such webhook. */
export function createWebhookService(options: {
  webhooks: WebhookStore;
  authority: Pick<WebhookAuthority, 'basisOf' | 'holds'>;
  deliveries: Pick<DeliveryStore, 'sendNow' | 'findById' | 'removeAllOf' | 'countSince'>;
  events: EventStore;
  rights: ReadingRights;
  secrets: Pick<WebhookSecrets, 'rotated'>;
  replays: Pick<Replays, 'start'>;
  backlogs: Pick<Backlogs, 'requireRoom'>;
  isAllowedHost: (hostname: string) => boolean;
  /** Announces the job of a delivery that was stored. */
  announce: (job: JobState) => void;
  /** Reports what was done to a webhook to identity. */
  report: (id: string) => void;
}) {
  const { webhooks, authority, deliveries, secrets, report } = options;
  const { holderOf, ...reading } = createWebhookReading(options);
  const { find } = reading;

  return {
    ...reading,
    ...createWebhookSending({ ...options, find }),

    unavailable: (caller: Caller) => unavailableFor(options, holderOf, caller),

    async create(
      { id, ...draft }: NewWebhook & { id: string },
      caller: Caller,
      request: RequestInfo,
    ): Promise<Webhook> {
      const holder = await holderOf(caller);
      const basis = await authority.basisOf(holder.reader, caller);
      await check(options, draft, { reader: holder.reader, basis });
      const now = new Date();
      const webhook: Webhook = {
        ...{ id, ...holder, ...draft, basis, slot: null, memberSlot: null, replay: null },
        ...{ status: 'active', pauseReason: null, secrets: secrets.rotated(id) },
        ...{ version: 1, createdAt: now, updatedAt: now },
      };
      const by = requestedBy(caller, request);
      const full = await webhooks.insert(webhook, actionOn(webhook, 'webhook.created', by));
      if (full !== undefined) throw tooMany(full);
      report(id);
      return webhook;
    },

    async update(
      id: string,
      changes: WebhookChanges,
      caller: Caller,
      ifVersion: IfVersion,
      request: RequestInfo,
    ): Promise<Webhook> {
      const webhook = await find(id, caller);
      const basis = await authority.basisOf(webhook.reader, caller);
      await check(options, changes, { reader: webhook.reader, basis });
      const by = requestedBy(caller, request);
      const { status } = changes;
      const pauseReason = status === 'paused' ? ('owner' as const) : null;
      const changed = await webhooks.update(
        id,
        (current) => {
          const next = { ...current, ...omitUndefined(changes) };
          return {
            ...next,
            ...(status === undefined || status === current.status ? {} : { pauseReason }),
            ...(isGivenAgain(current, next) ? { basis, memberSlot: null } : {}),
          };
        },
        ifVersion,
        (before, after) => (isGivenAgain(before, after) ? actionOn(after, 'webhook.changed', by) : undefined),
      );
      report(id);
      return changed ?? webhook;
    },

    async remove(id: string, caller: Caller, ifVersion: IfVersion, request: RequestInfo): Promise<void> {
      const webhook = await find(id, caller);
      requireUnprotected(webhook, 'webhook');
      const by = requestedBy(caller, request);
      // The owner may have made it, and a member remove it.
      const removed = actionOn(webhook, 'webhook.removed', by, caller.givenBy ?? null);
      await webhooks.remove(id, ifVersion, removed);
      await deliveries.removeAllOf(id);
      report(id);
    },

    /** A new secret; the one before lives for as long as this. The webhook rests on the caller, who can sign now. */
    async rotate(id: string, overlapSeconds: number, caller: Caller, request: RequestInfo): Promise<Webhook> {
      const { reader } = await find(id, caller);
      const basis = await authority.basisOf(reader, caller);
      const endsAt = new Date(Date.now() + overlapSeconds * 1000);
      const by = requestedBy(caller, request);
      const rotated = await webhooks.update(
        id,
        (current) => ({
          ...current,
          basis,
          memberSlot: null,
          replay: null,
          secrets: secrets.rotated(id, current.secrets, endsAt),
        }),
        undefined,
        (_, after) => actionOn(after, 'webhook.changed', by),
      );
      report(id);
      return rotated ?? find(id, caller);
    },
  };
}

/** The reasons why a webhook of the caller would not get an event. */
async function unavailableFor(
  { authority, rights }: Pick<WebhookServiceOptions, 'authority' | 'rights'>,
  holderOf: ReturnType<typeof createWebhookReading>['holderOf'],
  caller: Caller,
): ReturnType<FindUnavailable> {
  try {
    const { reader } = await holderOf(caller);
    const basis = await authority.basisOf(reader, caller);
    const readable = await rights.ofWebhook({ reader, basis });
    return (type) => unavailableReason(readable, type, basis);
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'forbidden') return () => error.message;
    throw error;
  }
}

async function check(
  { rights, isAllowedHost }: { rights: ReadingRights; isAllowedHost: (hostname: string) => boolean },
  given: Partial<NewWebhook>,
  by: Pick<Webhook, 'reader' | 'basis'>,
): Promise<void> {
  const problems = webhookProblems(given, { types: EVENT_TYPE_NAMES, isAllowedHost });
  const readable = await rights.ofWebhook(by);
  for (const word of problems.length === 0 ? (given.events ?? []) : []) {
    const reasons = EVENT_TYPE_NAMES.filter((type) => wordsOf(type).includes(word)).map((type) =>
      unavailableReason(readable, type, by.basis),
    );
    if (reasons.includes(null)) continue;
    problems.push({ field: 'events', message: `cannot have ${word}: ${reasons[0]?.slice(0, -1)}` });
    break;
  }
  if (problems.length > 0) throw invalidFields(problems);
}

function tooMany(limit: 'perOwner' | 'perMember'): ServiceError {
  const whose = limit === 'perMember' ? ' that you made for the owner of the application' : '';
  const message = `There are ${WEBHOOK_LIMITS[limit]} webhooks already${whose}, and no more are allowed.`;
  return new ServiceError('conflict', message);
}

/** Whether the webhook rests on the person who made this change: it is resumed, or sends other events or to another URL. */
const isGivenAgain = (before: Webhook, after: Webhook): boolean =>
  (before.status === 'paused' && after.status === 'active') ||
  before.url !== after.url ||
  before.events.join() !== after.events.join();
