import { MANAGE_APPS } from '@gatehouse/tokens/scopes';
import { type TProperties, type TSchema, Type } from 'typebox';

/**
 * The types of events that webhooks and GET /api/v1/events have. The data of an event is small, and has nobody's name or
 * address: whoever needs more reads it by the API, which knows who may.
 */
export type EventType = {
  description: string;
  /** A reader needs one of these. */
  scopes: readonly string[];
  /** The data of the event; other fields of its source are left out. */
  schema: TSchema & { properties: TProperties };
  example: Record<string, unknown>;
  /** Whether people never get it about themselves: they have no account at that time. */
  aboutOthers?: true;
  /** The aggregate that the event is about. The events of one are in order. */
  aggregate(data: Data): string;
  /** The readers of the event, beside admins. */
  readers(data: Data): readonly string[];
};
export type Data = Readonly<Record<string, unknown>>;

/** Readers of events, by which they are found: roles, a person, or the owner of an application. */
export const ADMIN = 'admin';
/** Editors and trusted applications. */
export const STAFF = 'staff';
export const ANYBODY = 'anybody';
export const person = (id: unknown) => `person ${id}`;
export const ownerOf = (clientId: unknown) => `owner of ${clientId}`;

const USERS = ['read:users', 'read:all'];
const DATA = ['read:data', 'read:all'];
/** No application has this scope, as with the audit log, sessions and applications. */
const FIRST_PARTY = [MANAGE_APPS];

const Id = (description: string) => Type.String({ description });
const Version = Type.Integer({ description: 'Counts the changes: a higher one is later.' });
const Currency = Type.String({ description: 'An ISO 4217 code.' });
const OrNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description });
/** Absent where the person acted. Readers of a product are anybody, and learn of no actors. */
const ACTORS = {
  actors: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'The client IDs of the applications that acted for the person, the latest first (RFC 8693); or the ID of the admin. Applications of the person do not see them.',
    }),
  ),
};
const AGENTS = { actors: ['app_06f2k1c8w0h3v5n7q9t1x3z5b7'] };

const ANN = 'usr_06f2k1c8w0h3v5n7q9t1x3z5b7';

const user = (description: string, more: TProperties = {}, example: Data = {}): EventType => ({
  description,
  scopes: USERS,
  schema: Type.Object({ user_id: Id('The user.'), version: Version, ...more }),
  example: { user_id: ANN, version: 2, ...example },
  aggregate: ({ user_id: id }) => String(id),
  readers: ({ user_id: id }) => [STAFF, person(id)],
});

const order = (description: string): EventType => ({
  description,
  scopes: DATA,
  schema: Type.Object({
    order_id: Id('The order.'),
    user_id: Id('The customer.'),
    status: Type.String(),
    total_amount: Type.Number(),
    currency: Currency,
    version: Version,
    ...ACTORS,
  }),
  example: {
    order_id: 'ord_06f2k1c8w0h3v5n7q9t1x3z5b7',
    user_id: ANN,
    status: 'pending',
    total_amount: 49.9,
    currency: 'EUR',
    version: 1,
    ...AGENTS,
  },
  aggregate: ({ order_id: id }) => String(id),
  readers: ({ user_id: id }) => [STAFF, person(id)],
});

const product = (description: string, more: TProperties = {}, example: Data = {}): EventType => ({
  description,
  scopes: DATA,
  schema: Type.Object({ product_id: Id('The product.'), ...more }),
  example: { product_id: 'prd_06f2k1c8w0h3v5n7q9t1x3z5b7', ...example },
  aggregate: ({ product_id: id }) => String(id),
  readers: () => [ANYBODY, STAFF],
});
const PRODUCT: [TProperties, Data] = [
  {
    name: Type.String(),
    sku: OrNull('The stock keeping unit.'),
    price: Type.Number(),
    currency: Currency,
    stock: Type.Integer(),
    status: Type.String(),
    version: Version,
  },
  { name: 'Teapot', sku: 'TP-1', price: 24.95, currency: 'EUR', stock: 12, status: 'active', version: 2 },
];

const ofApplication = (description: string, more: TProperties = {}, example: Data = {}): EventType => ({
  description,
  scopes: FIRST_PARTY,
  schema: Type.Object({
    client_id: OrNull('The application, if there is one.'),
    user_id: OrNull('The person who did it, if it was one.'),
    ...more,
  }),
  example: { client_id: 'app_06f2k1c8w0h3v5n7q9t1x3z5b7', user_id: ANN, ...example },
  aggregate: ({ client_id: id, user_id: userId }) => String(id ?? userId),
  readers: ({ client_id: id, user_id: userId }) => [
    ...(id === null ? [] : [ownerOf(id)]),
    ...(userId === null ? [] : [person(userId)]),
  ],
});
const signIn = (description: string) => ofApplication(description);
const application = (description: string) => ofApplication(description);
const credential = (description: string) =>
  ofApplication(
    description,
    { kind: Type.String({ enum: ['client_secret', 'api_key'] }) },
    { kind: 'api_key' },
  );

const notification = (description: string, status: string): EventType => ({
  description,
  scopes: DATA,
  schema: Type.Object({
    notification_id: Id('The notification.'),
    user_id: Id('The recipient.'),
    type: Type.String({ description: 'email, sms or push.' }),
    status: Type.String(),
  }),
  example: { notification_id: 'ntf_06f2k1c8w0h3v5n7q9t1x3z5b7', user_id: ANN, type: 'email', status },
  aggregate: ({ notification_id: id }) => String(id),
  readers: ({ user_id: id }) => [STAFF, person(id)],
});

const report = (description: string, status: string): EventType => ({
  description,
  scopes: DATA,
  schema: Type.Object({
    report_id: Id('The report.'),
    requester: Id('The person or application that asked for it.'),
    type: Type.String({ description: 'The type of the report.' }),
    status: Type.String(),
  }),
  example: { report_id: 'rep_06f2k1c8w0h3v5n7q9t1x3z5b7', requester: ANN, type: 'orders', status },
  aggregate: ({ report_id: id }) => String(id),
  // An application that is trusted stands for itself.
  readers: ({ requester: id }) => [person(id)],
});

/** Sent on request, to one webhook; nobody subscribes to it. */
export const TEST_TYPE = 'webhook.test';

export const EVENT_TYPES = {
  'user.created': { ...user('A user was created.'), aboutOthers: true },
  'user.updated': user(
    'A user was changed.',
    {
      changed: Type.Array(Type.String(), { description: 'The names of the fields that changed.' }),
      ...ACTORS,
    },
    { changed: ['name'], ...AGENTS },
  ),
  'user.deleted': { ...user('A user was deleted.'), aboutOthers: true },
  'order.created': order('An order was placed.'),
  'order.updated': order('The status of an order changed.'),
  'product.created': product('A product was created.', ...PRODUCT),
  'product.updated': product('A product was changed.', ...PRODUCT),
  'product.deleted': product('A product was deleted.', { version: Version }, { version: 3 }),
  'stock.changed': {
    ...product(
      'An order took pieces of a product, or gave them back when it was cancelled.',
      {
        order_id: Id('The order.'),
        change: Type.Integer({ description: 'Negative when pieces were taken.' }),
      },
      { order_id: 'ord_06f2k1c8w0h3v5n7q9t1x3z5b7', change: -2 },
    ),
    // Not among the changes of the product, which have versions.
    aggregate: ({ product_id: id }) => `stock of ${id}`,
  },
  'sign_in.succeeded': signIn('A person signed in, at an application or without one.'),
  'sign_in.failed': signIn('Somebody could not sign in.'),
  'application.created': application('An application was created.'),
  'application.updated': application('An application was changed.'),
  'application.transferred': application('An application has another owner.'),
  'application.deleted': application('An application was deleted.'),
  'credential.created': credential('A client secret or an API key was created.'),
  'credential.rotated': credential('An API key was replaced.'),
  'credential.revoked': credential('A client secret or an API key was revoked.'),
  'notification.sent': notification('A notification was sent.', 'sent'),
  'notification.failed': notification('A notification could not be sent.', 'failed'),
  'report.completed': report('A report is ready.', 'completed'),
  'report.failed': report('A report could not be made.', 'failed'),
  [TEST_TYPE]: {
    description: 'A test that was asked for.',
    scopes: [],
    schema: Type.Object({ webhook_id: Id('The webhook.') }),
    example: { webhook_id: 'whk_06f2k1c8w0h3v5n7q9t1x3z5b7' },
    aggregate: ({ webhook_id: id }) => String(id),
    readers: () => [],
  },
} satisfies Record<string, EventType>;
export type EventTypeName = keyof typeof EVENT_TYPES;
export const EVENT_TYPE_NAMES = Object.keys(EVENT_TYPES) as EventTypeName[];

/** The type of this name; undefined when there is none. */
export const typeOf = (name: string): EventType | undefined =>
  Object.hasOwn(EVENT_TYPES, name) ? EVENT_TYPES[name as EventTypeName] : undefined;
