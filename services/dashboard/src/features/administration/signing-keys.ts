import { type Content, html } from '@gatehouse/web/html';
import { ApiError } from '../../api/api-error.ts';
import { attempt } from '../../api/attempt.ts';
import { checkbox } from '../../pages/fields.ts';
import { entryOf, notAvailable, statusTag, time } from '../../pages/parts.ts';
import { table } from '../../pages/table.ts';
import type { View } from '../../pages/view.ts';
import { addConfirmed } from '../../resources/confirmed.ts';
import type { DashboardRouter, Section } from '../../routes/dashboard-router.ts';
import type { Visit } from '../../routes/visit.ts';

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
const NOTICES: Record<string, string> = {
  rotated: 'The signing keys are rotated.',
  dropped: 'All earlier signing keys are removed. Tokens that they signed no longer work.',
};
const STATES: Record<SigningKey['state'], string> = {
  next: 'published, so that verifiers know it before it signs',
  current: 'signs tokens',
  previous: 'published until the tokens that it signed have expired',
  retired: 'compromised, and no longer accepted',
};

const STATE_NAMES = Object.keys(STATES) as SigningKey['state'][];

/** The keys that sign tokens, for admins. */
export const signingKeys: Section = {
  name: 'signing-keys',
  title: 'Signing keys',
  role: 'admin',
  addRoutes,
};

function addRoutes(router: DashboardRouter): void {
  router.get('/signing-keys', view);

  addConfirmed(router, '/signing-keys/rotate', async (visit, sent) => {
    const current = await currentKeys(visit);
    const isChosen = (kid: string) => sent === undefined || sent.fields.all('kid').includes(kid);
    return {
      ...QUESTION,
      title: 'Rotate the signing keys?',
      lost: html`<p>The next key of each chosen algorithm begins to sign. The current one never signs again; it stays published until the tokens that it has signed have expired, so that they keep working.</p>`,
      fields: html`<fieldset><legend>Keys to replace</legend><div class="checks">${current.map((key) =>
        checkbox({
          name: 'kid',
          value: key.kid,
          checked: isChosen(key.kid),
          label: html`${key.alg}: <code>${key.kid}</code>`,
          hint: html`The key has signed tokens since ${time(key.activated_at)}.`,
        }),
      )}</div></fieldset>
${checkbox({ name: 'force', value: 'yes', checked: sent?.fields.has('force') ?? false, label: 'Rotate even if the next key has been published for less than 15 minutes', hint: 'Services that have not fetched the next key yet refuse its tokens until they do.' })}`,
      submit: 'Rotate keys',
      async act(fields) {
        const kids = fields.all('kid');
        if (kids.length === 0) throw new ApiError(400, 'Choose at least one key.');
        const body = { kids, force: fields.has('force') };
        await visit.api.send('POST', `${API}/rotate`, body);
        return `${PATH}?done=rotated`;
      },
    };
  });

  addConfirmed(router, '/signing-keys/compromised', async (visit) => {
    const kids = (await currentKeys(visit)).map(({ kid }) => kid);
    return {
      ...QUESTION,
      title: 'Replace compromised signing keys?',
      lost: html`<p>All signing keys are removed: the current keys ${kids.map((kid, i) => html`${i > 0 && ', '}<code>${kid}</code>`)} and the next keys. Every token that they have signed stops working within seconds, and all people and applications need new tokens. Verifiers outside Gatehouse refuse the new tokens until they have fetched the new keys.</p><p>Do this only if a key may have been stolen. This cannot be undone.</p>`,
      name: COMPROMISED,
      hidden: { kids: kids.join(' ') },
      submit: 'Remove all signing keys',
      async act(fields) {
        const body = { kids: fields.required('kids').split(' '), compromised: true };
        await visit.api.send('POST', `${API}/rotate`, body);
        return `${PATH}?done=dropped`;
      },
    };
  });
}

/** The text that is typed to confirm the removal of all keys. */
const COMPROMISED = 'remove all keys';
const QUESTION = {
  section: 'signing-keys',
  trail: [{ href: PATH, title: 'Signing keys' }],
  back: PATH,
} as const;

async function currentKeys({ api }: Visit): Promise<SigningKey[]> {
  const { data } = await api.get<{ data: SigningKey[] }>(API);
  return data.filter(({ state }) => state === 'current');
}

async function view({ api, query }: Visit): Promise<View> {
  const outcome = await attempt(api.get<{ data: SigningKey[] }>(API));
  const keys = outcome.value?.data ?? [];
  return {
    title: 'Signing keys',
    section: 'signing-keys',
    notice: entryOf(NOTICES, query('done')),
    body: html`<p>Tokens are signed with the current key of each algorithm. Verifiers get the public keys from <code>/.well-known/jwks.json</code>. Keys rotate automatically.</p>
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
          { title: 'Created', show: ({ created_at: at }) => time(at) },
          {
            title: 'Signing period',
            show: ({ activated_at: since, retired_at: until }) => signs(since, until),
          },
        ],
        keys,
      )
    : notAvailable('Signing keys', outcome.error, { again: PATH })
}
${
  outcome.error === undefined &&
  html`<section class="panel"><h2>Rotate now</h2><p>The next key of each algorithm begins to sign. Tokens that the current key has signed keep working.</p>
<p><a class="button secondary" href="${PATH}/rotate">Rotate keys</a></p></section>
<section class="panel danger-zone"><h2>A key was stolen</h2><p>All signing keys are removed, and every token that they signed stops working.</p>
<p><a class="button danger" href="${PATH}/compromised">Replace compromised keys</a></p></section>`
}`,
  };
}

function signs(since: string | null, until: string | null): Content {
  if (since === null) return 'not yet';
  return until === null ? html`since ${time(since)}` : html`${time(since)} to ${time(until)}`;
}
