import { type Content, html } from '@gatehouse/web/html';
import { matching } from '../../api/matching.ts';
import type { ApiPage } from '../../api/pages.ts';
import { copyable, exactTime, facts, number, shownOnce, time } from '../../pages/parts.ts';
import type { ResourceView } from '../../resources/resource.ts';
import { resourcePages } from '../../resources/resource-pages.ts';
import { SCOPES } from './application-texts.ts';

type RegistrationToken = {
  id: string;
  name: string;
  scopes: readonly string[];
  machines: boolean;
  uses_left: number;
  last_four: string;
  created_at: string;
  expires_at: string;
};

const API = '/api/v1/registration-tokens';
const LIFETIMES = [
  ['86400', 'One day'],
  ['3600', 'One hour'],
  ['604800', 'One week'],
  ['2592000', '30 days'],
  ['31536000', 'One year'],
] as const;

/** The tokens with which clients register themselves as applications of the reader. */
export const registrationTokens = resourcePages<RegistrationToken>({
  name: 'registration-tokens',
  noun: ['registration token', 'registration tokens'],
  api: API,
  idPrefix: 'rgt',
  filters: [],
  find: ({ api }) => api.get<ApiPage<RegistrationToken>>(API),
  search: async ({ api }, text) =>
    matching(await api.get<ApiPage<RegistrationToken>>(API), text, ({ name }) => [name]),
  columns: [
    {
      ...{ title: 'Name', show: ({ name }) => html`<bdi>${name}</bdi>` },
      below: ({ last_four: end }) => html`<br><code class="below">…${end}</code>`,
    },
    { title: 'Scopes', show: ({ scopes }) => scopes.join(' ') },
    { title: 'Uses left', number: true, show: ({ uses_left: left }) => number(left) },
    { title: 'Created', show: ({ created_at: at }) => time(at) },
    { title: 'Expires', show: ({ expires_at: at }) => exactTime(at) },
  ],
  empty: html`<p><strong>You have no registration tokens yet.</strong> With a registration token, a program registers its clients by itself (RFC 7591), and they become your applications.</p>`,
  notices: { created: 'The registration token is created. Copy it now.' },
  title: ({ name }) => name,
  view,
  fields: [
    {
      name: 'name',
      label: 'Name',
      required: true,
      maxlength: 200,
      hint: 'Who registers clients with it, such as “continuous integration”.',
    },
    {
      name: 'scopes',
      label: 'Permissions',
      kind: 'several',
      options: SCOPES.map(({ name, description }) => [name, description]),
      initial: 'openid profile email',
      hint: 'The most that a client can ask for. It never has more permissions than your own role.',
    },
    {
      name: 'machines',
      label: 'Machines may register',
      kind: 'flag',
      hint: 'They act as you within these permissions, without anybody signing in. Leave this off for programs that people sign in to.',
    },
    {
      name: 'uses',
      label: 'Uses',
      subject: 'The number of uses',
      kind: 'integer',
      required: true,
      initial: '1',
      hint: 'How many clients can register with it, from 1 to 100.',
    },
    {
      name: 'expires_in',
      label: 'Lifetime',
      kind: 'integer',
      required: true,
      options: LIFETIMES,
      initial: '86400',
    },
  ],
  create: {
    once: true,
    async send({ api, putFlash }, values) {
      const { id, token } = await api.send<{ id: string; token: string }>('POST', API, {
        name: values.name,
        scopes: (values.scopes ?? '').split(' ').filter(Boolean),
        machines: values.machines !== '',
        uses: Number(values.uses),
        expires_in: Number(values.expires_in),
      });
      await putFlash(`/dashboard/registration-tokens/${encodeURIComponent(id)}`, token);
      return { id };
    },
  },
  remove: {
    lost: 'No client can register with this token any more. Clients that have registered with it stay.',
  },
});

async function view({ value: it, visit, deletion }: ResourceView<RegistrationToken>): Promise<Content> {
  const fresh = await visit.takeFlashes();
  return html`${fresh.map((token, at) =>
    shownOnce({
      title: 'Your registration token',
      shown: copyable(at === 0 ? 'new-secret' : `new-secret-${at}`, token),
      next: 'Give the token to the program that registers clients. If you lose it, create another one.',
    }),
  )}
<section class="panel">${facts([
    ['Token', html`<code>…${it.last_four}</code>`],
    ['Scopes', it.scopes.join(' ')],
    ['Machines', it.machines ? 'may register' : 'cannot register'],
    ['Uses left', number(it.uses_left)],
    ['Created', exactTime(it.created_at)],
    ['Expires', exactTime(it.expires_at)],
  ])}<p>A client sends its metadata to <code>POST /oauth2/register</code>, with the token as “Bearer” in the Authorization header. The <a href="/docs/guides/client-registration">guide</a> shows how.</p></section>
${deletion}`;
}
