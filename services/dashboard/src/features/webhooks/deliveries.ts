import { DELIVERY_STATUSES } from '@gatehouse/domain/webhook-fields';
import { form } from '@gatehouse/web/form';
import { type Content, html } from '@gatehouse/web/html';
import { ApiError } from '../../api/api-error.ts';
import { attempt } from '../../api/attempt.ts';
import { type ApiPage, cursorOf, filters } from '../../api/pages.ts';
import { formProblem, optionTags } from '../../pages/fields.ts';
import { codeBlock, exactTime, facts, notAvailable, number, statusTag } from '../../pages/parts.ts';
import type { Act, Part } from '../../resources/resource.ts';
import type { Delivery, Webhook } from './webhook.ts';

export const resend: Act<Webhook> = async ({ visit, apiPath, path }, fields) => {
  const id = encodeURIComponent(fields.required('delivery'));
  await visit.api.send('POST', `${apiPath}/deliveries/${id}/resend`);
  return `${path}/deliveries?done=resent`;
};

/** The problem of a webhook or a delivery that was refused. The API does not say which limit was reached. */
export function webhookProblem(error: ApiError | undefined) {
  if (error?.status !== 429) return formProblem(error);
  const limits = 'Too many requests, or too many deliveries of your webhooks are pending.';
  return formProblem(new ApiError(429, `${limits} Try again in a minute.`));
}

/** How far the last replay is; nothing without one. */
export function replayProgress({ replay }: Webhook): string | null {
  if (!replay) return null;
  const { events, done, ended_at: end, reason } = replay;
  const progress = `${number(done)} of ${number(events)} ${events === 1 ? 'event' : 'events'}`;
  if (end === null) return `${progress}, under way`;
  return reason === null ? `${progress}, done` : `${progress}. ${reason}`;
}

/** The outcome of each delivery, the latest first: its request, and the responses to its attempts. */
export const deliveries: Part<Webhook> = {
  title: 'Deliveries',
  async view({ visit, apiPath, path, value, refused }) {
    const [cursor, status] = [visit.query('cursor'), visit.query('status')];
    const here = `${path}/deliveries`;
    const pageAt = (at: string) => {
      const given = Object.entries({ status, cursor: at }).filter(([, value]) => value !== '');
      return given.length === 0 ? here : `${here}?${new URLSearchParams(given)}`;
    };
    const { value: page, error } = await attempt(
      visit.api.get<ApiPage<Delivery>>(`${apiPath}/deliveries`, { cursor, ...filters({ status }) }),
    );
    if (page === undefined) return notAvailable('The deliveries', error, { again: pageAt('') });
    const { data, links } = page;
    const next = cursorOf(links?.next);
    const resendButton = ({ id, type, status }: Delivery) => {
      const [again, label] = status === 'pending' ? ['now', 'Send now'] : ['again', 'Send again'];
      return form(
        { action: `${here}/resend`, csrf: visit.csrf, hidden: { delivery: id } },
        html`<div class="buttons"><button class="secondary" aria-label="${`Send ${type} ${again}`}">${label}</button></div>`,
      );
    };
    const replay = replayProgress(value);
    return html`${webhookProblem(refused?.error)}
<form class="search" role="search" method="get" action="${here}"><div class="field narrow"><label for="status">Status</label><select id="status" name="status"><option value="">Any</option>${optionTags(DELIVERY_STATUSES, status)}</select></div><button class="secondary">Search</button></form>
<p class="count">The deliveries of the last 30 days, the latest first. ${replay !== null && html`Replay: ${replay}. `}<a href="${pageAt('')}">Refresh</a></p>
${
  data.length === 0
    ? html`<div class="empty"><p><strong>There are no ${status} deliveries${cursor === '' ? '' : ' any more'}.</strong> Send a test to see one.</p></div>`
    : html`<div class="deliveries">${data.map(
        (it) =>
          html`<details class="panel"><summary><span>${it.type}</span> <span class="delivery-about">${outcomeOf(it)}</span> <span class="hint delivery-time">${exactTime(it.created_at)}</span></summary>
${detailsOf(it)}${value.status === 'active' && resendButton(it)}</details>`,
      )}</div>`
}
${next !== undefined && html`<nav class="pager" aria-label="Pages"><a class="button secondary" href="${pageAt(next)}">Next page</a></nav>`}`;
  },
};

/** The outcome of a delivery so far. One that failed and is sent again stands out from one that waits. */
export function outcomeOf({
  status,
  response_status: response,
  next_attempt_at: next,
  attempts,
}: Delivery): Content {
  const isRetried = status === 'pending' && attempts.length > 0;
  const shown = isRetried ? html`<span class="status is-bad">retrying</span>` : statusTag(status);
  return html`${shown}${response != null && html` ${response}`}${isRetried && response == null && html` no response`}${isRetried && next !== null && html` <span class="hint">next attempt ${exactTime(next)}</span>`}`;
}

function detailsOf({
  id,
  event_id: event,
  reason,
  next_attempt_at: next,
  request,
  attempts,
}: Delivery): Content {
  return html`${facts([
    ['webhook-id', html`<code>${event}</code>`],
    ['Reason', reason],
    ['Next attempt', next !== null && exactTime(next)],
  ])}
<h2>Request</h2>
${request.body === null ? html`<p class="hint">${request.reason}</p>` : codeBlock(`request-${id}`, readable(request.body))}
<h2>Attempts</h2>
${attempts.length === 0 && html`<p class="hint">There was none yet.</p>`}
${attempts.map(
  ({ started_at: at, duration_ms: ms, response, error }, i) =>
    html`<p>${exactTime(at)}: ${response === null ? error : `${response.status} after ${ms} ms`}</p>${Boolean(response?.body) && codeBlock(`response-${id}-${i}`, response?.body)}`,
)}`;
}

function readable(json: string): string {
  return JSON.stringify(JSON.parse(json), null, 2);
}
