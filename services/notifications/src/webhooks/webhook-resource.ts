import { plainBody } from '@gatehouse/api/http/error-bodies';
import { documentedLimits } from '@gatehouse/api/http/schema';
import { cursorEnvelope } from '@gatehouse/api/lists/paging';
import { type Profile, requestBody, view } from '@gatehouse/api/resource/profile';
import type { Resource } from '@gatehouse/api/resource/resource';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { WEBHOOK_STATUSES } from '@gatehouse/domain/webhook-fields';
import { Type } from 'typebox';
import { EVENT_TYPE_NAMES } from '../events/event-types.ts';
import {
  type LastDay,
  type NewWebhook,
  PAUSE_REASONS,
  WEBHOOK_LIMITS,
  type Webhook,
  type WebhookChanges,
  type WebhookField,
  wordsOf,
} from './webhook.ts';
import type { WebhookService } from './webhook-service.ts';

type WebhookTypes = {
  entity: Webhook & { lastDay?: LastDay; minorVersion?: number };
  field: WebhookField;
  draft: NewWebhook;
  changes: WebhookChanges;
};

export const READ = ['read:data', 'read:all'];
export const WRITE = ['write:data'];
export const WEBHOOKS = '/api/v1/webhooks';

const Time = Type.String({ format: 'date-time' });
const Status = Type.Unsafe<Webhook['status']>({ type: 'string', enum: [...WEBHOOK_STATUSES] });
const Fields = {
  url: Type.String({
    ...documentedLimits({ maxLength: WEBHOOK_LIMITS.url }),
    description: 'An https URL. Redirects are not followed.',
  }),
  events: Type.Array(
    Type.String(documentedLimits({ enum: [...new Set(EVENT_TYPE_NAMES.flatMap(wordsOf))] })),
    {
      maxItems: 50,
      description: 'Types of events, groups of them such as `order.*`, or `*`.',
    },
  ),
  description: Type.Union([Type.String(), Type.Null()]),
  ordered: Type.Boolean({
    description:
      'Whether the events about one thing, such as an order, are delivered one after the other. One that cannot be delivered then ' +
      'holds up those after it.',
  }),
  protected: Type.Boolean({ description: 'Whether it cannot be deleted: switch this off first.' }),
};
const { url: Url, events: Events, description: Description, ordered: Ordered, protected: Protected } = Fields;

const shown = {
  id: Type.String(),
  ...Fields,
  status: Status,
  pause_reason: Type.Unsafe<Webhook['pauseReason']>({
    type: ['string', 'null'],
    enum: [...PAUSE_REASONS, null],
    description:
      'failing: no success in three days. gone: the endpoint answered 410. owner: it was asked for. recovery: the account of its owner ' +
      'was recovered, or all of its credentials were ended. credential: the API key or client secret that made it has ended, or its ' +
      'giver is somebody else. backlog: too many deliveries of its owner were pending, and it had the most.',
  }),
  replay: Type.Union(
    [
      Type.Object({
        from: Time,
        events: Type.Integer({ description: 'The number of events when it was asked for.' }),
        done: Type.Integer({ description: 'The number of events whose deliveries have begun.' }),
        started_at: Time,
        ended_at: Type.Union([Time, Type.Null()], { description: 'Null while it is under way.' }),
        reason: Type.Union([Type.String(), Type.Null()], {
          description: 'Why it ended before its last event.',
        }),
      }),
      Type.Null(),
    ],
    { description: 'The last replay.' },
  ),
  created_at: Time,
};
export const show = (webhook: Webhook) => {
  const { id, url, events, description, ordered, status, pauseReason, replay, createdAt } = webhook;
  const { protected: isProtected } = webhook;
  return {
    ...{ id, url, events: [...events], description, ordered, protected: isProtected, status },
    pause_reason: pauseReason,
    replay: replay && {
      ...{ from: replay.from.toISOString(), events: replay.events, done: replay.done },
      started_at: replay.startedAt.toISOString(),
      ended_at: replay.endedAt?.toISOString() ?? null,
      reason: replay.reason,
    },
    created_at: createdAt.toISOString(),
  };
};

/** A webhook with its secret, which is shown when it is new. */
export const WithSecret = Type.Object({
  ...shown,
  secret: Type.String({ description: 'With which deliveries are signed. It is not shown again.' }),
});

const webhookView = view('Webhook', Type.Object(shown), show);
const LastDayView = Type.Object(
  {
    ended: Type.Integer({ description: 'How many succeeded or failed for good.' }),
    success_rate: Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
      description: 'The share of those that succeeded; null if there were none.',
    }),
  },
  { description: 'The deliveries that ended in the last 24 hours.' },
);
/** One webhook, as it is read. */
const detailView = view(
  'WebhookDetail',
  Type.Object({ ...shown, last_24_hours: LastDayView }),
  ({ lastDay = { ended: 0, succeeded: 0 }, ...webhook }: WebhookTypes['entity']) => ({
    ...show(webhook),
    last_24_hours: {
      ended: lastDay.ended,
      success_rate: lastDay.ended === 0 ? null : lastDay.succeeded / lastDay.ended,
    },
  }),
);
const DRAFT = {
  url: 'https://example.com/hooks',
  events: ['order.*'],
  description: null,
  ordered: false,
  protected: false,
};

const newWebhook = requestBody(
  'NewWebhook',
  Type.Object({
    url: Url,
    events: Events,
    description: Type.Optional(Description),
    ordered: Type.Optional(Ordered),
    protected: Type.Optional(Protected),
  }),
  {
    example: DRAFT,
    read: ({ url, events, description = null, ordered = false, protected: kept = false }): NewWebhook => ({
      ...{ url, events, description, ordered, protected: kept },
    }),
  },
);

const changes = requestBody(
  'WebhookChanges',
  Type.Object({
    url: Type.Optional(Url),
    events: Type.Optional(Events),
    description: Type.Optional(Description),
    ordered: Type.Optional(Ordered),
    protected: Type.Optional(Protected),
    status: Type.Optional(Status),
  }),
  {
    example: { status: 'active' },
    read: ({ url, events, description, ordered, protected: kept, status }): WebhookChanges =>
      omitUndefined({ url, events, description, ordered, protected: kept, status }),
  },
);

const profile = {
  name: 'plain',
  about: 'the webhooks, by cursor',
  errorBody: plainBody,
} as const satisfies Partial<Profile<WebhookTypes>>;

export const WEBHOOK_PATHS = [{ prefix: WEBHOOKS, profiles: [profile] }];

/** Webhooks as a resource. */
export function createWebhookResource(
  webhooks: WebhookService,
  /** Returns the secret of a webhook that is in use. */
  reveal: (webhook: Webhook) => string,
): Resource<WebhookTypes> {
  const withSecret = view('WebhookWithSecret', WithSecret, (webhook: Webhook) => ({
    ...show(webhook),
    secret: webhook === EXAMPLE ? EXAMPLE_SECRET : reveal(webhook),
  }));
  const plain: Profile<WebhookTypes> = {
    ...profile,
    list: {
      rules: {
        filters: {
          status: { field: 'status', type: 'string', values: WEBHOOK_STATUSES },
          created_at: { field: 'createdAt', type: 'date' },
        },
        plain: [],
        sort: { fields: { created_at: 'createdAt' }, by: 'sort', order: 'order' },
        paging: 'cursor',
      },
      envelope: cursorEnvelope,
      item: webhookView,
    },
    create: { body: newWebhook, response: withSecret },
    read: detailView,
    update: { method: 'PATCH', body: changes, response: webhookView },
    remove: true,
  };
  return {
    noun: { one: 'a webhook', many: 'webhooks' },
    idPrefix: 'whk',
    paths: [{ prefix: WEBHOOKS, profiles: [plain] }],
    operations: {
      list: {
        scopes: READ,
        source: webhooks.listFor,
        description: "The caller's webhooks; an application sees those that it has created.",
      },
      create: {
        scopes: WRITE,
        description:
          'Events of these types are posted to the URL from now on, signed as Standard Webhooks 1.0 says, as far as the own ' +
          'applications may read them. The secret is in this response only. ' +
          `An owner has at most ${WEBHOOK_LIMITS.perOwner} webhooks.`,
        run: webhooks.create,
        dryRun: true,
      },
      read: { scopes: READ, run: webhooks.read },
      update: {
        scopes: WRITE,
        description:
          'With the status active, a webhook that was paused is resumed, and rests on the caller as it is now, as with another URL or ' +
          'other events; see replay.',
        run: webhooks.update,
        dryRun: true,
      },
      remove: {
        scopes: WRITE,
        description: 'Its deliveries are removed, too. 409 while it is `protected`.',
        run: webhooks.remove,
      },
    },
    example: EXAMPLE,
  };
}

const AT = new Date('2026-03-01T09:30:00Z');
const EXAMPLE: Webhook = {
  ...DRAFT,
  id: 'whk_06f2k1c8w0h3v5n7q9t1x3z5b7',
  owner: 'usr_06f2k1c8w0h3v5n7q9t1x3z5b7',
  reader: 'usr_06f2k1c8w0h3v5n7q9t1x3z5b7',
  status: 'active',
  pauseReason: null,
  basis: { owner: 'usr_06f2k1c8w0h3v5n7q9t1x3z5b7', recovery: 0, authority: 0, keyId: null },
  slot: null,
  memberSlot: null,
  replay: null,
  secrets: [],
  version: 1,
  createdAt: AT,
  updatedAt: AT,
};
/** That of the specification. */
const EXAMPLE_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
export const SECRET_EXAMPLE = { ...show(EXAMPLE), secret: EXAMPLE_SECRET };
