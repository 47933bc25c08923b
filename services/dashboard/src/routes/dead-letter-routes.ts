import { form } from '@gatehouse/ui/form';
import { type Content, html } from '@gatehouse/ui/html';
import type { ApiError } from '../api/api-error.ts';
import { attempt } from '../api/attempt.ts';
import type { ApiPage } from '../api/pages.ts';
import type { Lane } from '../api/queues.ts';
import { formProblem, refusalOf } from '../pages/fields.ts';
import { list } from '../pages/list.ts';
import { entryOf, time } from '../pages/parts.ts';
import type { View } from '../pages/view.ts';
import type { DashboardRouter, Visit } from './dashboard-router.ts';

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
const NOTICES: Record<string, string> = {
  replayed: 'It is back in its queue, with all its attempts before it.',
  removed: 'It is removed.',
  gone: 'It is no longer here: somebody else has replayed or removed it.',
};

/** Jobs whose attempts all failed, for admins: replaying and removing them. */
export function addDeadLetterRoutes({ get, post }: DashboardRouter): void {
  get('/dead-letters', (visit) => view(visit, { notice: entryOf(NOTICES, visit.query('done')) }));

  post('/dead-letters/replay', async (visit, fields) => {
    try {
      const body = { ids: [fields.required('id')] };
      const { replayed } = await visit.api.send<{ replayed: number }>('POST', API, body);
      return `${PATH}?done=${replayed === 0 ? 'gone' : 'replayed'}`;
    } catch (error) {
      return view(visit, { error: refusalOf(error) });
    }
  });

  post('/dead-letters/remove', async (visit, fields) => {
    await visit.api.send('DELETE', `${API}/${encodeURIComponent(fields.required('id'))}`);
    return `${PATH}?done=removed`;
  });
}

async function view(
  { api, csrf, query }: Visit,
  shown: { notice?: string | undefined; error?: ApiError },
): Promise<View> {
  const [queue, cursor] = [query('queue'), query('cursor')];
  const search = { cursor: cursor || undefined, queue: queue || undefined };
  const [outcome, lanes] = await Promise.all([
    attempt(api.get<ApiPage<DeadLetter>>(API, search)),
    attempt(api.get<Lane[]>('/api/v1/queues')),
  ]);
  const queues = [...new Set(lanes.value?.map((it) => it.queue))];
  const button = (action: string, { id }: DeadLetter, text: string, look: string) =>
    form(
      { action: `${PATH}/${action}`, csrf, hidden: { id } },
      html`<button class="${look}" aria-label="${`${text} ${id}`}">${text}</button>`,
    );
  return {
    title: 'Dead letters',
    section: 'dead-letters',
    notice: shown.notice,
    failed: shown.error !== undefined,
    body: html`<p>Jobs whose attempts all failed. When the cause is gone, replay them: nothing is lost.</p>
${formProblem(shown.error, [])}
${list<DeadLetter>({
  path: PATH,
  noun: ['dead letter', 'dead letters'],
  search: [
    {
      kind: 'choice',
      name: 'queue',
      label: 'Queue',
      options: queues.map((name) => [name, name] as const),
    },
  ],
  values: { queue },
  cursor,
  outcome,
  columns: [
    { title: 'Job', show: ({ id, data }) => html`<code>${id}</code>${about(data)}` },
    { title: 'Queue', show: ({ queue: name, lane, priority }) => `${name} / ${lane}, ${priority}` },
    { title: 'Last error', show: ({ error }) => error },
    { title: 'Attempts', number: true, show: ({ attempts }) => attempts },
    { title: 'Failed', show: ({ failed_at: at }) => time(at) },
    {
      title: 'Change',
      show: (letter) =>
        html`<div class="row-buttons">${button('replay', letter, 'Replay', 'secondary')}${button('remove', letter, 'Remove', 'danger')}</div>`,
    },
  ],
  empty: html`<p><strong>There are no dead letters.</strong> Every job has succeeded or is still being tried. <a href="/dashboard/queues">See the queues</a>.</p>`,
})}`,
  };
}

/** What a job is about, by its ids. */
function about(data: Record<string, unknown>): Content {
  return html`<details><summary>About</summary><dl class="facts">${Object.entries(data).map(
    ([name, value]) =>
      html`<div><dt>${name}</dt><dd>${typeof value === 'string' ? value : JSON.stringify(value)}</dd></div>`,
  )}</dl></details>`;
}
