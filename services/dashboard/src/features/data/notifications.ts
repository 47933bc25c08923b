import { NOTIFICATION_STATUSES, NOTIFICATION_TYPES } from '@gatehouse/domain/notification-fields';
import { form } from '@gatehouse/web/form';
import { type Content, type Html, html } from '@gatehouse/web/html';
import { ApiError } from '../../api/api-error.ts';
import { USER_HINT, userIdOf } from '../../api/lookups.ts';
import { filters } from '../../api/pages.ts';
import { errorOf, formProblem } from '../../pages/fields.ts';
import { copyable, exactTime, facts, refreshed, statusTag, time, userLink } from '../../pages/parts.ts';
import { table } from '../../pages/table.ts';
import type { ResourceView } from '../../resources/resource.ts';
import { resourcePages } from '../../resources/resource-pages.ts';
import type { Visit } from '../../routes/visit.ts';

type Notification = {
  id: string;
  user_id: string;
  subject?: string;
  message: string;
  type: string;
  priority: string;
  status: string;
  reason: string | null;
  attempts: { started_at: string; ended_at: string | null; outcome: string; error: string | null }[];
  created_at: string;
};

const API = '/v2/notifications';
/** An open notification may change while the page is shown. */
const ENDED = ['sent', 'delivered', 'failed', 'cancelled'];

/** Notifications: what became of each, with every attempt; sending, cancelling, and sending again. */
export const notifications = resourcePages<Notification>({
  name: 'notifications',
  noun: ['notification', 'notifications'],
  api: API,
  idPrefix: 'ntf',
  role: 'editor',
  people: ({ user_id: id }) => [id],
  notices: {
    queued: 'The notification is queued.',
    cancelled: 'The notification is cancelled.',
    again: 'A new notification with the same message is queued.',
  },
  filters: [
    // Others see what was sent to themselves.
    { name: 'user', label: 'Recipient', hint: USER_HINT, role: 'editor' },
    { name: 'status', label: 'Status', options: NOTIFICATION_STATUSES },
    { name: 'type', label: 'Type', options: NOTIFICATION_TYPES },
  ],
  async find({ api }, { user = '', cursor, ...equal }) {
    const user_id = await userIdOf(api, user);
    return api.get(API, { cursor, sort: 'created_at', order: 'desc', ...filters({ ...equal, user_id }) });
  },
  columns: [
    { title: 'Message', show: (it) => html`<bdi>${titleOf(it)}</bdi>` },
    { title: 'Recipient', role: 'editor', show: ({ user_id: id }, people) => userLink(id, people) },
    { title: 'Type', show: ({ type }) => type },
    { title: 'Status', show: ({ status }) => statusTag(status) },
    { title: 'Attempts', number: true, show: ({ attempts }) => attempts.length },
    { title: 'Accepted', show: ({ created_at: at }) => time(at) },
  ],
  empty: ({ person }) =>
    html`<p><strong>There are no notifications yet.</strong> Emails, text messages and push messages appear here, with every attempt to send them.</p>${person.role === 'user' && html`<p><a href="/docs/guides/notifications-api">How to send notifications</a></p>`}`,
  title: titleOf,
  view,
  fields: [
    {
      name: 'user_id',
      label: 'Recipient',
      required: true,
      hint: `${USER_HINT}. The message goes to the address in their account.`,
      initial: ({ query }) => query('user'),
    },
    [
      { name: 'type', label: 'Type', required: true, options: NOTIFICATION_TYPES, initial: 'email' },
      {
        name: 'priority',
        label: 'Priority',
        required: true,
        options: ['normal', 'high', 'low'],
        hint: 'High-priority messages are sent first.',
        initial: 'normal',
      },
    ],
    {
      name: 'subject',
      label: 'Subject',
      hint: 'For an email. Without one, the first line of the message is the subject.',
    },
    {
      name: 'message',
      label: 'Message',
      required: true,
      rows: 4,
      prose: true,
      hint: 'Plain text, at most 4,096 characters.',
    },
  ],
  create: {
    role: 'editor',
    title: 'Send a notification',
    submit: 'Send',
    async send({ api }, values) {
      const user_id = await recipientOf(api, values.user_id ?? '');
      const body = { ...values, user_id, subject: values.subject || undefined };
      return { ...(await api.send<Notification>('POST', API, body)), done: 'queued' };
    },
  },
  actions: {
    async cancel({ visit, apiPath, path }) {
      await visit.api.send('PUT', apiPath, { status: 'cancelled' });
      return `${path}?done=cancelled`;
    },
    async 'send-again'({ visit, value: { user_id, type, priority, subject, message } }) {
      const body = { user_id, type, priority, subject, message };
      const { id } = await visit.api.send<Notification>('POST', API, body);
      return `/dashboard/notifications/${encodeURIComponent(id)}?done=again`;
    },
  },
});

function titleOf({ subject, message }: Notification): string {
  const text = subject ?? message;
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

/** The id of whom the form names. Throws an ApiError at the field. */
function recipientOf(api: Visit['api'], named: string): Promise<string> {
  return userIdOf(api, named).catch((error: unknown) => {
    const { status, message } = errorOf(error);
    throw new ApiError(status, message, { details: [{ field: 'user_id', message }] });
  });
}

function view({ value: it, visit, path, people, refused }: ResourceView<Notification>): Content {
  const { csrf, person } = visit;
  const button = (action: string, text: string): Html =>
    form({ action: `${path}/${action}`, csrf }, html`<button class="secondary">${text}</button>`);
  const content = html`<section class="panel">${facts([
    ['Notification ID', copyable('notification-id', it.id)],
    ['Recipient', person.role === 'user' ? 'you' : userLink(it.user_id, people)],
    ['Type', it.type],
    ['Priority', it.priority],
    ['Status', statusTag(it.status)],
    ['Reason', it.reason],
    ['Accepted', time(it.created_at)],
    ['Subject', Boolean(it.subject) && html`<bdi>${it.subject}</bdi>`],
    ['Message', html`<bdi>${it.message}</bdi>`],
  ])}</section>
<div class="row-buttons">${it.status === 'queued' && button('cancel', 'Cancel notification')}${
    ['failed', 'cancelled'].includes(it.status) && button('send-again', 'Send again')
  }</div>
<section><h2>Attempts</h2>${
    it.attempts.length === 0
      ? html`<p class="empty">No attempts yet.</p>`
      : table(
          [
            { title: 'Started', show: ({ started_at: at }) => exactTime(at) },
            { title: 'Ended', show: ({ ended_at: at }) => exactTime(at, 'still running') },
            { title: 'Outcome', show: ({ outcome }) => statusTag(outcome) },
            { title: 'Error', show: ({ error }) => error ?? '–' },
          ],
          it.attempts,
        )
  }</section>`;
  const seconds = ENDED.includes(it.status) ? undefined : 2;
  return html`${formProblem(refused?.error)}${refreshed({ id: 'notification', path, seconds, stack: true }, content)}`;
}
