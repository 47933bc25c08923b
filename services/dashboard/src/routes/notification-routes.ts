import { form } from '@gatehouse/web/form';
import { type Html, html } from '@gatehouse/web/html';
import { ApiError } from '../api/api-error.ts';
import { attempt } from '../api/attempt.ts';
import { USER_HINT, userIdOf } from '../api/lookups.ts';
import { type Names, namesOfUsers } from '../api/names.ts';
import { type ApiPage, filters } from '../api/pages.ts';
import type { Fields } from '../http/forms.ts';
import { errorOf, formProblem, selectField, textArea, textField } from '../pages/fields.ts';
import { choicesOf, list, table } from '../pages/list.ts';
import { copyable, entryOf, exactTime, facts, statusTag, time, userLink } from '../pages/parts.ts';
import type { View } from '../pages/view.ts';
import type { DashboardRouter, Visit } from './dashboard-router.ts';

type Attempt = { started_at: string; ended_at: string | null; outcome: string; error: string | null };
type Notification = {
  id: string;
  user_id: string;
  subject?: string;
  message: string;
  type: string;
  priority: string;
  status: string;
  reason: string | null;
  attempts: Attempt[];
  created_at: string;
};
type Values = { user_id: string; type: string; priority: string; subject: string; message: string };

const PATH = '/dashboard/notifications';
const API = '/v2/notifications';
const TRAIL = [{ href: PATH, title: 'Notifications' }];
const TYPES = choicesOf(['email', 'sms', 'push']);
const PRIORITIES = choicesOf(['normal', 'high', 'low']);
const STATUSES = choicesOf(['queued', 'sending', 'sent', 'delivered', 'failed', 'cancelled']);
const NOTICES: Record<string, string> = {
  queued: 'The notification is queued.',
  cancelled: 'The notification is cancelled.',
  again: 'A new notification with the same message is queued.',
};

/** Notifications: what became of each, with every attempt; sending, cancelling, and sending again. */
export function addNotificationRoutes({ get, post }: DashboardRouter): void {
  const pathOf = (id: string) => `${PATH}/${encodeURIComponent(id)}`;
  const read = ({ api, id }: Visit) => api.get<Notification>(`${API}/${id('ntf')}`);

  get('/notifications', async ({ api, query, person }) => {
    const equal = { status: query('status'), type: query('type') };
    // Others see what was sent to themselves.
    const seesAll = person.role !== 'user';
    const cursor = query('cursor');
    const values = { user: seesAll ? query('user') : '', ...equal };
    const outcome = await attempt(
      userIdOf(api, values.user).then((user_id) =>
        api.get<ApiPage<Notification>>(API, {
          ...{ cursor, sort: 'created_at', order: 'desc' },
          ...filters({ ...equal, user_id }),
        }),
      ),
    );
    const recipients = (outcome.value?.data ?? []).map(({ user_id: id }) => id);
    const people: Names = seesAll ? await namesOfUsers(api, recipients) : new Map();
    return {
      title: 'Notifications',
      section: 'notifications',
      actions: seesAll && html`<a class="primary" href="${PATH}/new">Send a notification</a>`,
      body: list({
        path: PATH,
        noun: ['notification', 'notifications'],
        search: [
          ...(seesAll ? [{ kind: 'text', name: 'user', label: 'Recipient', hint: USER_HINT } as const] : []),
          { kind: 'choice', name: 'status', label: 'Status', options: STATUSES },
          { kind: 'choice', name: 'type', label: 'Type', options: TYPES },
        ],
        values,
        cursor,
        outcome,
        columns: [
          {
            title: 'Message',
            show: ({ id, subject, message }) =>
              html`<a href="${pathOf(id)}"><bdi>${short(subject ?? message)}</bdi></a>`,
          },
          ...(seesAll
            ? [{ title: 'Recipient', show: ({ user_id: id }: Notification) => userLink(id, people) }]
            : []),
          { title: 'Type', show: ({ type }) => type },
          { title: 'Status', show: ({ status }) => statusTag(status) },
          { title: 'Attempts', number: true, show: ({ attempts }) => attempts.length },
          { title: 'Accepted', show: ({ created_at: at }) => time(at) },
        ],
        empty: html`<p><strong>There are no notifications yet.</strong> Emails, text messages and push messages appear here, with every attempt to send them.</p><p>${seesAll ? html`<a class="button primary" href="${PATH}/new">Send a notification</a>` : html`<a href="/docs/guides/notifications-api">How to send notifications</a>`}</p>`,
      }),
    };
  });

  get('/notifications/new', ({ csrf, query }) =>
    newView(csrf, { user_id: query('user'), type: 'email', priority: 'normal', subject: '', message: '' }),
  );

  post('/notifications/new', async ({ api, csrf }, fields) => {
    const values = valuesOf(fields);
    try {
      const user_id = await recipientOf(api, values.user_id);
      const { id } = await api.send<Notification>('POST', API, {
        ...values,
        user_id,
        subject: values.subject || undefined,
      });
      return `${pathOf(id)}?done=queued`;
    } catch (error) {
      return newView(csrf, values, errorOf(error));
    }
  });

  get('/notifications/:id', async (visit) =>
    view(visit, await read(visit), { notice: entryOf(NOTICES, visit.query('done')) }),
  );

  post('/notifications/:id/cancel', async (visit) => {
    const notification = await read(visit);
    try {
      await visit.api.send('PUT', `${API}/${encodeURIComponent(notification.id)}`, { status: 'cancelled' });
      return `${pathOf(notification.id)}?done=cancelled`;
    } catch (error) {
      return view(visit, notification, { error: errorOf(error) });
    }
  });

  post('/notifications/:id/send-again', async (visit) => {
    const notification = await read(visit);
    const { user_id, type, priority, subject, message } = notification;
    try {
      const { id } = await visit.api.send<Notification>('POST', API, {
        ...{ user_id, type, priority, subject, message },
      });
      return `${pathOf(id)}?done=again`;
    } catch (error) {
      return view(visit, notification, { error: errorOf(error) });
    }
  });

  async function view(
    { api, csrf, person }: Visit,
    it: Notification,
    shown: { notice?: string | undefined; error?: ApiError },
  ): Promise<View> {
    const people: Names = person.role === 'user' ? new Map() : await namesOfUsers(api, [it.user_id]);
    const button = (action: string, text: string, look: string): Html =>
      form({ action: `${pathOf(it.id)}/${action}`, csrf }, html`<button class="${look}">${text}</button>`);
    return {
      title: short(it.subject ?? it.message),
      section: 'notifications',
      trail: TRAIL,
      notice: shown.notice,
      failed: shown.error !== undefined,
      body: html`${formProblem(shown.error, [])}<div id="notification" class="stack"${!ENDED.includes(it.status) && html` hx-get="${pathOf(it.id)}" hx-select="#notification" hx-swap="outerHTML" hx-trigger="every 2s"`}><section class="panel">${facts(
        [
          ['Notification ID', copyable('notification-id', it.id)],
          ['Recipient', person.role === 'user' ? 'you' : userLink(it.user_id, people)],
          ['Type', it.type],
          ['Priority', it.priority],
          ['Status', statusTag(it.status)],
          ...(it.reason === null ? [] : ([['Reason', it.reason]] as const)),
          ['Accepted', time(it.created_at)],
          ...(it.subject === undefined ? [] : ([['Subject', html`<bdi>${it.subject}</bdi>`]] as const)),
          ['Message', html`<bdi>${it.message}</bdi>`],
        ],
      )}</section>
<div class="row-buttons">${it.status === 'queued' && button('cancel', 'Cancel notification', 'secondary')}${
        ['failed', 'cancelled'].includes(it.status) && button('send-again', 'Send again', 'secondary')
      }</div>
<section><h2>Attempts</h2>${
        it.attempts.length === 0
          ? html`<p class="empty">No attempts yet.</p>`
          : table<Attempt>(
              [
                { title: 'Started', show: ({ started_at: at }) => exactTime(at) },
                { title: 'Ended', show: ({ ended_at: at }) => exactTime(at, 'still running') },
                { title: 'Outcome', show: ({ outcome }) => statusTag(outcome) },
                { title: 'Error', show: ({ error }) => error ?? '–' },
              ],
              it.attempts,
            )
      }</section></div>`,
    };
  }
}

/** The id of whom the form names. Throws an ApiError at the field. */
function recipientOf(api: Visit['api'], named: string): Promise<string> {
  return userIdOf(api, named).catch((error: unknown) => {
    const { status, message } = errorOf(error);
    throw new ApiError(status, message, { details: [{ field: 'user_id', message }] });
  });
}

/** What has not ended may change while the page is shown. */
const ENDED = ['sent', 'delivered', 'failed', 'cancelled'];

function short(message: string): string {
  return message.length > 60 ? `${message.slice(0, 59)}…` : message;
}

function valuesOf(fields: Fields): Values {
  const { text } = fields;
  return {
    user_id: text('user_id'),
    type: text('type'),
    priority: text('priority'),
    subject: text('subject'),
    message: text('message'),
  };
}

function newView(csrf: string, values: Values, error?: ApiError): View {
  const problems = error?.details ?? [];
  return {
    title: 'Send a notification',
    section: 'notifications',
    trail: TRAIL,
    failed: error !== undefined,
    body: html`${formProblem(error, ['user_id', 'type', 'priority', 'subject', 'message'])}
${form(
  { action: `${PATH}/new`, csrf },
  html`${textField({ name: 'user_id', label: 'Recipient', value: values.user_id, required: true, hint: `${USER_HINT}. The message goes to the address in their account.`, problems })}
<div class="pair">${selectField({ name: 'type', label: 'Type', required: true, value: values.type, options: TYPES, problems })}
${selectField({ name: 'priority', label: 'Priority', required: true, value: values.priority, options: PRIORITIES, hint: 'High-priority messages are sent first.', problems })}</div>
${textField({ name: 'subject', label: 'Subject', value: values.subject, hint: 'For an email. Without one, the first line of the message is the subject.', problems })}
${textArea({ name: 'message', label: 'Message', value: values.message, required: true, prose: true, hint: 'Plain text, at most 4,096 characters.', problems })}
<div class="buttons"><button class="primary">Send</button></div>`,
  { class: 'wide-form' },
)}`,
  };
}
