import { form } from '@gatehouse/web/form';
import { duration } from '@gatehouse/web/formatting';
import { type Content, html } from '@gatehouse/web/html';
import type { ApiError } from '../../api/api-error.ts';
import { attempt } from '../../api/attempt.ts';
import { errorOf, formProblem } from '../../pages/fields.ts';
import { entryOf, notAvailable, number, refreshed, statusTag, time } from '../../pages/parts.ts';
import { type Column, table } from '../../pages/table.ts';
import type { View } from '../../pages/view.ts';
import type { DashboardRouter, Section } from '../../routes/dashboard-router.ts';
import type { Visit } from '../../routes/visit.ts';
import type { Lane } from './lanes.ts';

const PATH = '/dashboard/queues';
const API = '/api/v1/queues';
const NOTICES: Record<string, string> = {
  paused: 'The lane is paused. Its jobs wait until you resume it.',
  resumed: 'The lane is resumed.',
};

/** The queues of background work, for admins: how full they are, pausing and resuming their lanes. */
export const queues: Section = { name: 'queues', title: 'Queues', role: 'admin', addRoutes };

function addRoutes({ get, post }: DashboardRouter): void {
  get('/queues', (visit) => view(visit));

  post('/queues/change', async (visit, fields) => {
    const path = ['queue', 'lane'].map((name) => encodeURIComponent(fields.required(name))).join('/');
    const paused = fields.text('paused') === 'yes';
    try {
      await visit.api.send('PUT', `${API}/${path}`, { paused });
      return `${PATH}?done=${paused ? 'paused' : 'resumed'}`;
    } catch (error) {
      return view(visit, errorOf(error));
    }
  });
}

async function view({ api, csrf, query }: Visit, error?: ApiError): Promise<View> {
  const outcome = await attempt(api.get<Lane[]>(API));
  return {
    title: 'Queues',
    section: 'queues',
    notice: error === undefined ? entryOf(NOTICES, query('done')) : undefined,
    failed: error !== undefined,
    body: html`<p>Queues hold messages, reports and other background work. Each provider has a lane of its own. Pause a lane to hold its jobs, for example while its provider is under maintenance. Jobs in progress include those that wait for a retry. The busiest owners are those whose jobs took the longest in the last hour or so.</p>
${formProblem(error)}
${
  outcome.error === undefined
    ? refreshed(
        { id: 'queues', path: PATH, seconds: 5 },
        outcome.value.length === 0
          ? html`<p class="empty">This deployment has no queues.</p>`
          : table(columns(csrf), outcome.value),
      )
    : notAvailable('Queues', outcome.error, { again: PATH })
}`,
  };
}

function columns(csrf: string): Column<Lane>[] {
  return [
    { title: 'Lane', show: ({ queue, lane }) => html`${queue} / ${lane}` },
    { title: 'State', show: state },
    { title: 'Waiting', number: true, show: waiting },
    { title: 'In progress', number: true, show: ({ priorities }) => sum(priorities, 'in_flight') },
    { title: 'Oldest', show: oldest },
    { title: 'Attempts', show: ({ attempts }) => counts(Object.entries(attempts)) },
    { title: 'Busiest owners', show: busiest },
    {
      title: 'Dead letters',
      number: true,
      show({ queue, priorities }) {
        const dead = sum(priorities, 'dead_letters');
        const href = `/dashboard/dead-letters?${new URLSearchParams({ queue })}`;
        return dead === '0' ? dead : html`<a href="${href}">${dead}</a>`;
      },
    },
    {
      title: 'Change',
      show({ queue, lane, paused }) {
        const text = paused ? 'Resume' : 'Pause';
        const hidden = { queue, lane, paused: paused ? 'no' : 'yes' };
        // htmx keeps the focus on what has an id.
        return form(
          { action: `${PATH}/change`, csrf, hidden },
          html`<button class="secondary" id="${`change-${queue}-${lane}`}" aria-label="${`${text} ${queue} / ${lane}`}">${text}</button>`,
        );
      },
    },
  ];
}

function state({ paused, failing }: Lane): Content {
  if (paused) return statusTag('paused');
  if (failing === null) return statusTag('working');
  return html`${statusTag('failing')}<br><span class="hint">since ${time(failing.since)}: ${failing.error}</span>`;
}

type Priorities = Lane['priorities'];

const sum = (priorities: Priorities, field: 'waiting' | 'in_flight' | 'dead_letters') =>
  number(priorities.reduce((all, it) => all + it[field], 0));

function waiting({ priorities }: Lane): Content {
  const each = priorities.filter((it) => it.waiting > 0).map((it) => [it.priority, it.waiting] as const);
  return each.length === 0 ? '0' : counts(each);
}

function oldest({ priorities }: Lane): Content {
  const seconds = Math.max(0, ...priorities.map((it) => it.oldest_seconds));
  return seconds === 0 ? '' : duration(seconds);
}

/** The first in the row, and the others behind it. */
function busiest({ queue, lane, owners = [] }: Lane): Content {
  if (owners.length === 0) return 'none';
  const [first] = owners;
  const list = owners.map(
    ({ owner, slot_seconds: seconds }) => html`<li><code>${owner}</code> ${duration(seconds)}</li>`,
  );
  return html`<details id="${`owners-${queue}-${lane}`}"><summary><code>${first?.owner}</code></summary><ol>${list}</ol></details>`;
}

function counts(entries: readonly (readonly [name: string, count: number])[]): Content {
  if (entries.length === 0) return 'none';
  return entries.map(([name, count]) => html`<span class="count-of">${number(count)} ${name}</span> `);
}
