import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '@gatehouse/core/ids';
import type { Role } from '@gatehouse/tokens/scopes';
import t from 'tap';
import { ApiError } from '../../../src/api/api-error.ts';
import { find, type Results } from '../../../src/features/search/find.ts';
import { TASKS } from '../../../src/features/search/tasks.ts';
import type { Found, Section } from '../../../src/routes/dashboard-router.ts';
import type { Visit } from '../../../src/routes/visit.ts';

const hitsOf = (...titles: string[]): Found => ({
  hits: titles.map((title) => ({ href: `/dashboard/x/${title}`, title })),
  all: '/dashboard/x',
});
const section = (title: string, more: Partial<Section>): Section => {
  return { name: title.toLowerCase(), title, addRoutes() {}, ...more };
};
const named = (title: string, byName: () => Promise<Found>, role?: Role) =>
  section(title, { search: { byName }, ...(role && { role }) });
const failing = (error: Error) => () => Promise.reject(error);
const away = failing(new ApiError(0, 'This part of Gatehouse cannot be reached.'));

/** The results of a search in one line. */
async function search(sections: Section[], text: string, role: Role = 'admin', maxMs?: number) {
  const titles = {
    sections,
    pages: [{ href: '/account', title: 'Your account' }],
    docs: async (q: string) => (q === 'web' ? hitsOf('Events and webhooks') : { hits: [] }),
  };
  const visit = { person: { id: 'usr_1', name: 'Ann', role } } as Visit;
  return line(await find(titles, visit, text, maxMs));
}

function line({ groups, failed, exact }: Results): string {
  const parts = groups.map(
    ({ title, hits, all }) => `${title}: ${hits.map((hit) => hit.title).join(', ')}${all ? ' …' : ''}`,
  );
  if (exact !== undefined) parts.push(`to ${exact.href}`);
  if (failed.length > 0) parts.push(`failed: ${failed}`);
  return parts.join('; ');
}

const order = newId('ord');
const byId = (outcome: () => Promise<Found['hits'][number]>) => [
  section('Orders', { search: { byId: { ord: outcome }, byName: async () => hitsOf('no') } }),
];
const forbidden = failing(new ApiError(403, 'Not for you.'));

const CASES: [name: string, sections: Section[], text: string, expected: string, role?: Role][] = [
  ['names', [named('Items', async () => hitsOf('tea'))], 'te', 'Items: tea'],
  ['five of each kind', [named('Items', async () => hitsOf(...'abcdef'))], 'x', 'Items: a, b, c, d, e …'],
  [
    'five, and no more than these',
    [named('Items', async () => hitsOf(...'abcde'))],
    'x',
    'Items: a, b, c, d, e',
  ],
  ['pages by title', [section('Signing keys', {})], 'KEYS sign', 'Pages: Signing keys'],
  ['not by a part of a word', [section('Signing keys', {})], 'eys', ''],
  ['no pages for others', [section('Queues', { role: 'admin' })], 'queues', '', 'editor'],
  [
    'forms of new ones, for those who may create them',
    [section('Users', { search: { pages: [{ href: '/n', title: 'New user', role: 'admin' }] } })],
    'new',
    '',
    'user',
  ],
  ['no names for others', [named('Users', async () => hitsOf('ann'), 'editor')], 'ann', '', 'user'],
  ['other pages', [], 'account', 'Pages: Your account'],
  [
    'the documentation, below the others',
    [named('Webhooks', async () => hitsOf('web hook'))],
    'web',
    'Pages: Webhooks; Webhooks: web hook; Documentation: Events and webhooks',
  ],
  ['nothing of a text without words', [], '!?', ''],
  [
    'a service that is away',
    [named('Items', away), named('Products', async () => hitsOf('tea'))],
    'tea',
    'Products: tea; failed: Items',
  ],
  ['too many requests', [named('Items', failing(new ApiError(429, 'Wait.')))], 'tea', 'failed: Items'],
  ['what the person may not see', [named('Items', forbidden)], 'tea', ''],
  ['what a deployment does not have', [named('Items', failing(new ApiError(404, 'No.')))], 'tea', ''],
  [
    'an id leads to its page',
    byId(async () => ({ href: `/dashboard/orders/${order}`, title: 'Order' })),
    order,
    `Orders: Order; to /dashboard/orders/${order}`,
  ],
  ['an id that does not exist', byId(failing(new ApiError(404, 'No.'))), order, ''],
  ['an id of another person', byId(forbidden), order, ''],
  ['an id, while the service is away', byId(away), order, 'failed: Orders'],
  ['what only begins like an id', byId(away), order.slice(0, -1), 'Orders: no'],
];

t.test('what is found', async (t) => {
  for (const [name, sections, text, expected, role] of CASES) {
    t.equal(await search(sections, text, role), expected, name);
  }
});

t.test('tasks are found by other words, by those who may do them', async (t) => {
  const hitsFor = async (text: string, role: Role) => {
    const visit = { person: { id: 'usr_1', name: 'Ann', role } } as Visit;
    const docs = async () => ({ hits: [] });
    const { groups } = await find({ sections: [], pages: [], docs, tasks: TASKS }, visit, text);
    return groups.flatMap(({ hits }) => hits.map(({ href }) => href));
  };
  for (const [text, href] of [
    ['redirect', '/dashboard/applications'],
    ['rotate secret', '/dashboard/applications'],
    ['block', '/dashboard/users'],
    ['403', '/dashboard/requests?status=403'],
    ['429', '/dashboard/requests?status=429'],
    ['logo', '/dashboard/branding'],
    ['colour', '/dashboard/branding'],
    ['rate limit', '/dashboard/rate-limits'],
    ['alert', '/docs/guides/runbooks'],
    ['invite', '/dashboard/invitations/new'],
  ] as const) {
    t.ok((await hitsFor(text, 'admin')).includes(href), text);
  }
  t.strictSame(await hitsFor('block', 'user'), []);
});

t.test('a slow service does not delay the results of the others', async (t) => {
  const slow = () => sleep(5000, hitsOf('late'), { ref: false });
  const sections = [
    ...[1, 2, 3, 4].map((n) => named(`Slow ${n}`, slow)),
    named('Never started', async () => t.fail('it is too late') as never),
  ];
  const began = performance.now();
  const fast = named('Fast', async () => hitsOf('tea'));
  t.equal(
    await search([fast, ...sections], 'tea', 'admin', 50),
    'Fast: tea; failed: Slow 1,Slow 2,Slow 3,Slow 4,Never started',
  );
  t.ok(performance.now() - began < 2000);
});

t.test('four requests at a time', async (t) => {
  let running = 0;
  let most = 0;
  const sections = Array.from({ length: 12 }, (_, n) =>
    named(`S${n}`, async () => {
      running += 1;
      most = Math.max(most, running);
      await sleep(5);
      running -= 1;
      return hitsOf(`${n}`);
    }),
  );
  const found = await search(sections, 'x');
  t.equal(most, 4);
  t.match(found, /^S0: 0; S1: 1; .*S11: 11$/, 'in the order of the navigation');
});

t.test('the end of a session, and a fault of ours, are no empty results', async (t) => {
  const errors = [new ApiError(401, 'The token has expired.'), new TypeError('a bug')];
  for (const error of errors) await t.rejects(search([named('Items', failing(error))], 'tea'), error);
});
