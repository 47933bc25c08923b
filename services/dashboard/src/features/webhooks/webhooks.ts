import { WEBHOOK_STATUSES } from '@gatehouse/domain/webhook-fields';
import { form } from '@gatehouse/web/form';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { Api } from '../../api/api.ts';
import { ApiError } from '../../api/api-error.ts';
import { attempt } from '../../api/attempt.ts';
import { instantOf } from '../../api/instants.ts';
import { matching } from '../../api/matching.ts';
import { type ApiPage, filters } from '../../api/pages.ts';
import type { Options } from '../../pages/fields.ts';
import {
  capital,
  copyable,
  exactTime,
  facts,
  number,
  shownOnce,
  statusTag,
  time,
} from '../../pages/parts.ts';
import type { Act, Resource, ResourceView, Target } from '../../resources/resource.ts';
import type { FormRow } from '../../resources/resource-form.ts';
import { resourcePages } from '../../resources/resource-pages.ts';
import type { Visit } from '../../routes/visit.ts';
import { deliveries, outcomeOf, replayProgress, resend, webhookProblem } from './deliveries.ts';
import type { Delivery, Webhook } from './webhook.ts';

const API = '/api/v1/webhooks';

const REASONS: Record<string, string> = {
  failing: 'Paused, because no event could be delivered for three days.',
  gone: 'Paused, because the endpoint answered with the status 410.',
  owner: 'Paused by its owner.',
  backlog:
    'Paused, because too many deliveries of your webhooks were pending, and this one had the most. They are listed as skipped.',
  recovery:
    'Paused, because your account was recovered, or all of its credentials were ended. If the webhook is yours, resume it.',
  credential:
    'Paused, because the API key or secret that made it has ended. If the webhook is yours, resume it.',
};
/** For how many seconds the secret before still signs. */
const OVERLAPS = [
  ['86400', 'One day'],
  ['3600', 'One hour'],
  ['604800', 'One week'],
  ['0', 'No time: only the new secret signs'],
] as const;

/** The events of a webhook in the list. */
const LISTED = 3;

/** Other words for events, which the filter of the form finds. */
const WORDS: Readonly<Record<string, string>> = {
  'user.created': 'sign-up signup sign up registration register account',
  'user.updated': 'profile email role account',
  'user.deleted': 'account erased',
  'order.created': 'purchase checkout',
  'order.updated': 'payment paid shipped cancelled refund',
  'stock.changed': 'inventory',
  'sign_in.succeeded': 'login log in sign-in',
  'sign_in.failed': 'login log in sign-in',
  'application.created': 'client app',
  'application.updated': 'client app',
  'credential.created': 'secret key',
  'credential.rotated': 'secret key',
  'credential.revoked': 'secret key',
  'notification.sent': 'mail email sms push',
  'notification.failed': 'mail email sms push bounce',
};

const setStatus =
  (status: 'active' | 'paused', done: string): Act<Webhook> =>
  async ({ visit, apiPath, path }) => {
    await visit.api.send('PATCH', apiPath, { status });
    return `${path}?done=${done}`;
  };

const questions: NonNullable<Resource<Webhook>['confirmed']> = {
  rotate: ({ visit, apiPath, path }) => ({
    title: 'Replace the secret of this webhook?',
    lost: html`<p>Deliveries are signed with both secrets for the time that you choose below. Put the new secret in place before then; afterwards receivers that know only the old one refuse them.</p>`,
    rows: [{ name: 'overlap', label: 'The old secret keeps signing for', required: true, options: OVERLAPS }],
    submit: 'Replace secret',
    async act(fields) {
      const body = { overlap_seconds: Number(fields.required('overlap')) };
      const { secret } = await visit.api.send<{ secret: string }>('POST', `${apiPath}/rotate`, body);
      await visit.putFlash(path, secret);
      return path;
    },
  }),
};

const fieldsOf = async ({ api, person }: Visit): Promise<readonly FormRow[]> => [
  {
    name: 'url',
    label: 'Endpoint URL',
    type: 'url',
    required: true,
    hint: 'An https URL that takes POST requests. Under npm start, http://127.0.0.1 and http://localhost work, too.',
  },
  {
    name: 'events',
    label: 'Events',
    kind: 'several',
    required: true,
    options: await eventOptions(api),
    ...{ words: WORDS, line: 'Event' },
    hint: html`You get the events that your <a href="/dashboard/applications">applications</a> may read, by the scopes under Permissions in their settings.${
      person.role === 'user' &&
      ' They are about yourself, your own applications, and products: those about other people are for admins, editors and trusted applications.'
    }`,
  },
  { name: 'description', label: 'Description', maxlength: 500, hint: 'For yourself.' },
  {
    name: 'ordered',
    label: 'Deliver events about the same thing in their order',
    kind: 'flag',
    hint: 'An event that cannot be delivered then holds up the later ones.',
  },
];

/** Webhooks: where events are sent to, with what became of each delivery. */
export const webhooks = resourcePages<Webhook>({
  name: 'webhooks',
  noun: ['webhook', 'webhooks'],
  api: API,
  idPrefix: 'whk',
  filters: [{ name: 'status', label: 'Status', options: WEBHOOK_STATUSES }],
  find: ({ api }, { cursor, ...equal }) =>
    api.get(API, { cursor, sort: 'created_at', order: 'desc', ...filters(equal) }),
  search: async ({ api }, text) =>
    matching(await api.get<ApiPage<Webhook>>(API, { cursor: '', limit: 100 }), text, (it) => [
      it.url,
      it.description,
    ]),
  introduction,
  columns: [
    {
      title: 'Endpoint',
      show: ({ url }) => html`<bdi>${url}</bdi>`,
      below: ({ description }) =>
        description !== null && html`<br><span class="hint"><bdi>${description}</bdi></span>`,
    },
    {
      title: 'Events',
      show: ({ events }) =>
        events.length > LISTED
          ? `${events.slice(0, LISTED).join(', ')} and ${events.length - LISTED} more`
          : events.join(', '),
    },
    { title: 'Status', show: ({ status }) => statusTag(status) },
    { title: 'Created', show: ({ created_at: at }) => time(at) },
  ],
  empty: html`<p><strong>There are no webhooks yet.</strong> A webhook is a URL of yours to which events are sent as they happen, such as a new order or a sign-in at your application.</p>`,
  notices: {
    created: 'The webhook is created. Copy its secret now.',
    tested: 'A test is on its way. Its delivery is listed below.',
    paused: 'The webhook is paused. Events are not delivered to it.',
    resumed: 'The webhook is active again.',
    replayed: 'The events are on their way again.',
    resent: 'The delivery is on its way again.',
  },
  title: ({ url }) => url,
  view,
  partTitle: 'Settings',
  parts: { deliveries },
  fields: (_, visit) => fieldsOf(visit),
  create: {
    once: true,
    fields: fieldsOf,
    async send({ api, putFlash }, values) {
      const { id, secret } = await api.send<{ id: string; secret: string }>('POST', API, {
        url: values.url,
        events: chosenEvents((values.events ?? '').split(' ').filter(Boolean)),
        description: values.description || null,
        ordered: values.ordered !== '',
      });
      await putFlash(`/dashboard/webhooks/${encodeURIComponent(id)}`, secret);
      return { id };
    },
  },
  update: {
    send({ visit, apiPath, etag }, { events, ...changed }) {
      const given = Array.isArray(events) ? { events: chosenEvents(events) } : {};
      return visit.api.send('PATCH', apiPath, { ...changed, ...given }, etag);
    },
  },
  remove: { lost: 'Events are no longer sent to this endpoint, and the list of its deliveries is lost.' },
  actions: {
    test: {
      async once({ visit, apiPath, path }) {
        await visit.api.send('POST', `${apiPath}/test`);
        return `${path}/deliveries?done=tested`;
      },
    },
    pause: setStatus('paused', 'paused'),
    resume: setStatus('active', 'resumed'),
    'deliveries/resend': { once: resend },
    replay: { once: replay },
  },
  confirmed: questions,
});

function lastDay({ last_24_hours: day }: Webhook): string {
  if (day === undefined || day.success_rate === null) return 'No deliveries ended';
  const { ended, success_rate: rate } = day;
  // Not 100 % unless all have succeeded.
  return `${Math.floor(rate * 1000) / 10} % of ${number(ended)} ${ended === 1 ? 'delivery' : 'deliveries'} succeeded`;
}

/** The chosen events, without the types that a group among them has. Throws ApiError when there are none. */
function chosenEvents(events: readonly string[]): readonly string[] {
  if (events.length === 0) {
    const message = 'Choose at least one event.';
    throw new ApiError(400, message, { details: [{ field: 'events', message }] });
  }
  if (events.includes('*')) return ['*'];
  return events.filter((it) => it.endsWith('.*') || !events.includes(groupOf(it)));
}

const groupOf = (type: string) => `${type.split('.', 1)[0]}.*`;

async function replay({ visit, apiPath, path }: Target<Webhook>, fields: Parameters<Act<Webhook>>[1]) {
  await visit.api.send('POST', `${apiPath}/replay`, { from: instantOf(fields.required('from')) });
  return `${path}/deliveries?done=replayed`;
}

type EventType = { type: string; description: string; unavailable_reason: string | null };

const typesOf = async (api: Api) => (await api.get<{ data: EventType[] }>('/api/v1/event-types')).data;

/** All events, the groups of them, and each type of those that come at all; a test is sent on request only. */
async function eventOptions(api: Api): Promise<Options> {
  const types = (await typesOf(api)).filter(({ type }) => type !== 'webhook.test');
  const groups = Map.groupBy(types, ({ type }) => groupOf(type));
  const later = 'and those that are added later.';
  /** Why none of them comes; empty when one does. */
  const noneOf = (some: readonly EventType[]) => {
    const reasons = some.map(({ unavailable_reason: reason }) => reason ?? '');
    return reasons.includes('') ? '' : (reasons[0] ?? '');
  };
  return [
    ['*', `All events, ${later}`, undefined, noneOf(types)],
    ...[...groups].flatMap(([group, some]) => {
      const title = capital(group.slice(0, -2).replaceAll('_', ' '));
      const each = some.map((it) => [it.type, it.description, title, noneOf([it])] as const);
      const whole = [group, `All of ${title}, ${later}`, title, noneOf(some)] as const;
      return noneOf(some) === '' ? [whole, ...each] : [whole];
    }),
  ];
}

async function introduction({ api }: Visit): Promise<Content> {
  const { value: types = [] } = await attempt(typesOf(api));
  return html`<p>Events are posted to your URLs, signed as <a href="https://www.standardwebhooks.com">Standard Webhooks</a> says. The <a href="/docs/guides/webhooks">guide</a> shows how to receive them.</p>
${
  types.length > 0 &&
  html`<details class="panel" id="types"><summary>Types of events</summary>${facts(types.map(({ type, description }) => [type, description]))}</details>`
}`;
}

async function view({
  value: it,
  visit,
  path,
  apiPath,
  form: changeForm,
  deletion,
  refused,
}: ResourceView<Webhook>): Promise<Content> {
  const { api, csrf } = visit;
  const [fresh, newest] = await Promise.all([
    visit.takeFlashes(),
    attempt(api.get<ApiPage<Delivery>>(`${apiPath}/deliveries`, { limit: 1 })),
  ]);
  const [last] = newest.value?.data ?? [];
  const button = (action: string, text: string): Html =>
    form({ action: `${path}/${action}`, csrf }, html`<button class="secondary">${text}</button>`);
  const isPaused = it.status === 'paused';
  return html`${webhookProblem(refused?.error)}
${fresh.map((secret, at) =>
  shownOnce({
    title: 'The secret of your webhook',
    shown: copyable(at === 0 ? 'new-secret' : `new-secret-${at}`, secret),
    next: html`Copy it into the settings of your receiver, which verifies each request with it: the <a href="/docs/guides/webhooks">guide</a> shows how. If you lose it, replace it.`,
  }),
)}
<section class="panel">${facts([
    ['Webhook ID', copyable('webhook-id', it.id)],
    ['Status', statusTag(it.status)],
    ['Reason', it.pause_reason !== null && (REASONS[it.pause_reason] ?? it.pause_reason)],
    [
      'Newest delivery',
      last !== undefined && html`<a href="${path}/deliveries">${last.type}</a> ${outcomeOf(last)}`,
    ],
    ['Last 24 hours', lastDay(it)],
    ['Replay', replayProgress(it)],
    ['Created', exactTime(it.created_at)],
  ])}</section>
<div class="row-buttons">${!isPaused && button('test', 'Send a test')}${isPaused ? button('resume', 'Resume') : button('pause', 'Pause')}<a class="button secondary" href="${path}/rotate">Replace secret</a></div>
<section><h2>Settings</h2>${changeForm}</section>
${
  !isPaused &&
  html`<section><h2>Replay</h2><p>Sends all events since the day that you choose again, whether they were delivered before or not. Events are kept for 30 days. The deliveries are made some at a time, and a pause of the webhook ends the replay.</p>
${form(
  { action: `${path}/replay`, csrf },
  html`<div class="field narrow"><label for="from">Since</label><input id="from" name="from" type="date" required></div><div class="buttons"><button class="secondary">Replay events</button></div>`,
  { class: 'inline-form' },
)}</section>`
}
${deletion}`;
}
