import { form } from '@gatehouse/ui/form';
import { type Content, html } from '@gatehouse/ui/html';
import type { ApiError } from '../api/api-error.ts';
import { attempt } from '../api/attempt.ts';
import { checkbox, formProblem, refusalOf } from '../pages/fields.ts';
import { table } from '../pages/list.ts';
import { notAvailable, statusTag, time } from '../pages/parts.ts';
import type { View } from '../pages/view.ts';
import type { DashboardRouter, Visit } from './dashboard-router.ts';

type SigningKey = {
  kid: string;
  alg: string;
  state: 'next' | 'current' | 'previous' | 'retired';
  created_at: string | null;
  activated_at: string | null;
  retired_at: string | null;
};

const PATH = '/dashboard/signing-keys';
const API = '/api/v1/signing-keys';
const STATES: Record<SigningKey['state'], string> = {
  next: 'published, so that verifiers know it before it signs',
  current: 'signs tokens',
  previous: 'published until what it signed has expired',
  retired: 'compromised, and no longer accepted',
};

const STATE_NAMES = Object.keys(STATES) as SigningKey['state'][];

/** The keys that sign tokens, for admins. */
export function addSigningKeyRoutes({ get, post }: DashboardRouter): void {
  get('/signing-keys', (visit) => {
    const done = visit.query('done') === 'rotated';
    return view(visit, { notice: done ? 'The next keys sign from now on.' : undefined });
  });

  post('/signing-keys/rotate', async (visit, fields) => {
    try {
      const body = { kids: fields.all('kid'), force: fields.has('force') };
      await visit.api.send('POST', `${API}/rotate`, body);
      return `${PATH}?done=rotated`;
    } catch (error) {
      return view(visit, { error: refusalOf(error) });
    }
  });
}

async function view(
  { api, csrf }: Visit,
  { notice, error }: { notice?: string | undefined; error?: ApiError },
): Promise<View> {
  const outcome = await attempt(api.get<{ data: SigningKey[] }>(API));
  const keys = outcome.value?.data ?? [];
  const current = keys.filter(({ state }) => state === 'current');
  return {
    title: 'Signing keys',
    section: 'signing-keys',
    notice,
    failed: error !== undefined,
    body: html`<p>Tokens are signed with the current key of each algorithm. Whoever verifies them gets the public keys from <code>/.well-known/jwks.json</code>. Keys are replaced by themselves on a schedule.</p>
<p>${STATE_NAMES.filter((name) => keys.some(({ state }) => state === name)).map(
      (name) => html`${statusTag(name)} ${STATES[name]}. `,
    )}</p>
${
  outcome.error === undefined
    ? table<SigningKey>(
        [
          { title: 'Key', show: ({ kid }) => html`<code>${kid}</code>` },
          { title: 'Algorithm', show: ({ alg }) => alg },
          { title: 'State', show: ({ state }) => statusTag(state) },
          { title: 'Made', show: ({ created_at: at }) => time(at) },
          { title: 'Signs', show: ({ activated_at: since, retired_at: until }) => signs(since, until) },
        ],
        keys,
      )
    : notAvailable('Signing keys', outcome.error, { again: PATH })
}
${
  current.length > 0 &&
  html`<section class="panel"><h2>Rotate now</h2><p>The next key of each algorithm begins to sign, and the current one stays published: tokens that it has signed go on working. If a key was stolen, do not use this: run <code>npm run keys:rotate -- --compromised</code>, which ends them.</p>
${formProblem(error, [])}
${form(
  { action: `${PATH}/rotate`, csrf },
  html`<fieldset><legend>Keys to replace</legend><div class="checks">${current.map(({ kid, alg }) =>
    checkbox({ name: 'kid', value: kid, checked: true, label: html`${alg}: <code>${kid}</code>` }),
  )}</div></fieldset>
${checkbox({ name: 'force', value: 'yes', checked: false, label: 'Even if the next key has been published for less than 15 minutes', hint: 'Verifiers that have not fetched it yet refuse tokens until they do.' })}
<div class="buttons"><button class="primary">Rotate</button></div>`,
)}</section>`
}`,
  };
}

function signs(since: string | null, until: string | null): Content {
  if (since === null) return 'not yet';
  return until === null ? html`since ${time(since)}` : html`${time(since)} to ${time(until)}`;
}
