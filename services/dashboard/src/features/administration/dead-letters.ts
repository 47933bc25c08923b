import { form } from '@gatehouse/web/form';
import { type Content, html } from '@gatehouse/web/html';
import { attempt } from '../../api/attempt.ts';
import { errorOf } from '../../pages/fields.ts';
import { exactTime, facts } from '../../pages/parts.ts';
import { addConfirmed } from '../../resources/confirmed.ts';
import { listView, type ResourceList } from '../../resources/resource-list.ts';
import type { DashboardRouter, Section } from '../../routes/dashboard-router.ts';
import type { Lane } from './lanes.ts';

type DeadLetter = {
  id: string;
  queue: string;
  lane: string;
  priority: string;
  data: Record<string, unknown>;
  attempts: number;
  error: string;
  failed_at: string;
};

const PATH = '/dashboard/dead-letters';
const API = '/api/v1/dead-letters';
const DEAD_LETTERS: ResourceList<DeadLetter> = {
  name: 'dead-letters',
  noun: ['dead letter', 'dead letters'],
  api: API,
  introduction: html`<p>A dead letter is a job that failed in every attempt. Replay the job when the cause is fixed.</p>`,
  notices: {
    replayed: 'The job is back in its queue and starts with a full set of attempts.',
    removed: 'The dead letter is removed.',
    gone: 'Somebody else has already replayed or removed this dead letter.',
  },
  filters: [
    {
      name: 'queue',
      label: 'Queue',
      async options(api) {
        const { value } = await attempt(api.get<Lane[]>('/api/v1/queues'));
        return [...new Set(value?.map(({ queue }) => queue))];
      },
    },
  ],
  find: ({ api }, { queue, cursor }) =>
    api.get(API, { cursor: cursor || undefined, queue: queue || undefined }),
  columns: ({ csrf }) => [
    { title: 'Job', show: ({ id, data }) => html`<code>${id}</code>${about(data)}` },
    { title: 'Queue', show: ({ queue: name, lane, priority }) => `${name} / ${lane}, ${priority}` },
    { title: 'Last error', show: ({ error }) => error },
    { title: 'Attempts', number: true, show: ({ attempts }) => attempts },
    { title: 'Failed', show: ({ failed_at: at }) => exactTime(at) },
    {
      title: 'Change',
      show: ({ id }) =>
        html`<div class="row-buttons">${form(
          { action: `${PATH}/replay`, csrf, hidden: { id } },
          html`<button class="secondary" aria-label="${`Replay ${id}`}">Replay</button>`,
        )}<a class="button danger" href="${`${PATH}/${encodeURIComponent(id)}/remove`}" aria-label="${`Remove ${id}`}">Remove</a></div>`,
    },
  ],
  empty: html`<p><strong>There are no dead letters.</strong> Every job has succeeded or is still being tried. <a href="/dashboard/queues">See the queues</a>.</p>`,
};

/** Jobs whose attempts all failed, for admins: replaying and removing them. */
export const deadLetters: Section = {
  name: 'dead-letters',
  title: 'Dead letters',
  role: 'admin',
  addRoutes,
};

function addRoutes(router: DashboardRouter): void {
  const { get, post } = router;

  get('/dead-letters', (visit) => listView(DEAD_LETTERS, visit));

  post('/dead-letters/replay', async (visit, fields) => {
    try {
      const body = { ids: [fields.required('id')] };
      const { replayed } = await visit.api.send<{ replayed: number }>('POST', API, body);
      return `${PATH}?done=${replayed === 0 ? 'gone' : 'replayed'}`;
    } catch (error) {
      return listView(DEAD_LETTERS, visit, errorOf(error));
    }
  });

  addConfirmed(router, '/dead-letters/:letter/remove', async (visit) => {
    const path = `${API}/${encodeURIComponent(visit.param('letter'))}`;
    const { id, queue, attempts, error, failed_at: at } = await visit.api.get<DeadLetter>(path);
    return {
      section: 'dead-letters',
      trail: [{ href: PATH, title: 'Dead letters' }],
      back: PATH,
      title: 'Remove this dead letter?',
      lost: html`<p>Job <code>${id}</code> of the queue ${queue}, which failed after ${attempts} attempts at ${exactTime(at)}: ${error}</p><p>The job will never run again. This cannot be undone.</p>`,
      submit: 'Remove dead letter',
      async act() {
        await visit.api.send('DELETE', path);
        return `${PATH}?done=removed`;
      },
    };
  });
}

/** The data of a job: the ids of its objects. */
function about(data: Record<string, unknown>): Content {
  return html`<details><summary>Details</summary>${facts(Object.entries(data).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]))}</details>`;
}
