import { form } from '@gatehouse/web/form';
import { type Content, html } from '@gatehouse/web/html';
import { attempt } from '../../api/attempt.ts';
import { type ApiPage, cursorOf } from '../../api/pages.ts';
import { formProblem } from '../../pages/fields.ts';
import { codeBlock, exactTime, facts, notAvailable, statusTag } from '../../pages/parts.ts';
import type { Act, Part } from '../../resources/resource.ts';
import type { Delivery, Webhook } from './webhook.ts';

export const resend: Act<Webhook> = async ({ visit, apiPath, path }, fields) => {
  const id = encodeURIComponent(fields.required('delivery'));
  await visit.api.send('POST', `${apiPath}/deliveries/${id}/resend`);
  return `${path}/deliveries?done=resent`;
};

/** What became of each delivery, the latest first: its request, and the responses to its attempts. */
export const deliveries: Part<Webhook> = {
  title: 'Deliveries',
  async view({ visit, apiPath, path, value, refused }) {
    const cursor = visit.query('cursor');
    const here = `${path}/deliveries`;
    const { value: page, error } = await attempt(
      visit.api.get<ApiPage<Delivery>>(`${apiPath}/deliveries`, { cursor }),
    );
    if (page === undefined) return notAvailable('The deliveries', error, { again: here });
    const { data, links } = page;
    const next = cursorOf(links?.next);
    const resendButton = (id: string, type: string) =>
      form(
        { action: `${here}/resend`, csrf: visit.csrf, hidden: { delivery: id } },
        html`<div class="buttons"><button class="secondary" aria-label="${`Send ${type} again`}">Send again</button></div>`,
      );
    const mayResend = ({ status }: Delivery) => status !== 'pending' && value.status === 'active';
    return html`${formProblem(refused?.error)}
<p class="count">The deliveries of the last 30 days, the latest first. <a href="${here}">Refresh</a></p>
${
  data.length === 0
    ? html`<div class="empty"><p><strong>There are no deliveries ${cursor === '' ? 'yet' : 'any more'}.</strong> Send a test to see one.</p></div>`
    : data.map(
        (
          it,
        ) => html`<details class="panel"><summary>${it.type} ${statusTag(it.status)} <span class="hint">${exactTime(it.created_at)}</span></summary>
${detailsOf(it)}${mayResend(it) && resendButton(it.id, it.type)}</details>`,
      )
}
${next !== undefined && html`<nav class="pager" aria-label="Pages"><a class="button secondary" href="${`${here}?cursor=${encodeURIComponent(next)}`}">Next page</a></nav>`}`;
  },
};

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
