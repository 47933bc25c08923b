import { SERVICE_NAMES, type ServiceName } from '@gatehouse/core/services';
import { freePort } from '@gatehouse/testing/processes';
import t from 'tap';
import { build } from '../build.ts';

type List = {
  /** What it says without rows; false where there are always some, such as whoever looks at it. */
  empty?: string | false;
  /** A search without a match; false where nothing is searched. */
  search?: string | false;
  /** A search that the API refuses. */
  refused?: string;
};

/** What differs from the usual list, by the page: one that is empty says so, and is searched by `q`. */
const LISTS: Record<string, List> = {
  applications: { empty: 'You have no applications yet.', refused: 'owner=nobody' },
  reports: {
    empty: 'You have not requested any reports yet.',
    search: 'type=sales',
    refused: 'type=nonsense',
  },
  products: { search: 'q=x&status=active', refused: 'status=nonsense' },
  orders: { search: 'status=pending', refused: 'status=nonsense' },
  notifications: { search: 'type=sms', refused: 'user=nobody' },
  users: { empty: false, refused: 'role=nonsense' },
  audit: { empty: false, search: 'address=192.0.2.1', refused: 'from=nonsense' },
  'rate-limits': { empty: false, search: false },
  requests: { search: 'code=x', refused: 'status=nonsense' },
  webhooks: { search: 'status=paused', refused: 'status=nonsense' },
  'identity-providers': {
    empty: 'So far, people can sign in only with accounts of this deployment.',
    search: false,
  },
  'trusted-issuers': { empty: 'No issuer is trusted yet.', search: false },
  'registration-tokens': { empty: 'You have no registration tokens yet.', search: false },
  resources: { empty: 'There are no APIs yet.', search: false },
  invitations: { empty: 'No invitations are waiting.', search: false },
  'signing-keys': { empty: false, search: false },
  queues: { empty: false, search: false },
  'dead-letters': {
    empty: 'There are no dead letters.',
    search: 'queue=messages',
    refused: 'queue=nonsense',
  },
};

const built = await build(t, { notifications: true });
const { browser, page } = await built.signedIn('admin');
const cookie = [...browser.cookies('/dashboard')].map(([name, value]) => `${name}=${value}`).join('; ');

/** A dashboard for which all of the API is there. */
async function dashboardWithApiAt(url: string): Promise<string> {
  const urls = SERVICE_NAMES.map((name) => [name, url]);
  return built.replica({ serviceUrls: Object.fromEntries(urls) as Record<ServiceName, string> });
}
const unreachable = await dashboardWithApiAt(`http://127.0.0.1:${await freePort()}`);
// A dashboard has no route of the API.
const missing = await dashboardWithApiAt(unreachable);

/** What stands in the place of the rows, as text, and where its links lead. */
async function shown(origin: string, list: string, query: string) {
  const response = await fetch(`${origin}/dashboard/${list}${query && `?${query}`}`, { headers: { cookie } });
  const html = await response.text();
  const block = /<div class="(?:empty|unavailable)"[\s\S]*?<\/div>/.exec(html)?.[0] ?? '';
  const links = [...block.matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));
  const text = block
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(' .', '.')
    .trim();
  return { status: response.status, text, links };
}

/** The lists that the navigation leads to. */
const NAMES = new Set([...page.html.matchAll(/href="\/dashboard\/([a-z-]+)"/g)].map(([, name = '']) => name));
for (const other of ['sign-out', 'preferences', 'branding']) NAMES.delete(other);

t.test('every list of the table is in the navigation', async (t) => {
  t.same(
    Object.keys(LISTS).filter((name) => !NAMES.has(name)),
    [],
  );
  t.ok(NAMES.has('items'), 'and others are');
});

for (const list of NAMES) {
  const { empty = `There are no ${list} yet.`, search = 'q=x', refused } = LISTS[list] ?? {};
  t.test(`${list}: what is wrong, and the way on`, async (t) => {
    const own = `/dashboard/${list}`;
    const down = ['cannot be shown.', 'cannot be reached', 'Try again in a moment.'];
    const error = ['cannot be shown.', 'Change the search, or show all'];
    const cases: [origin: string, query: string, said: string[], to?: string][] = [
      [unreachable, '', down, own],
      [
        missing,
        '',
        ['cannot be shown.', 'does not have this part of the API. Go to the overview.'],
        '/dashboard',
      ],
    ];
    if (empty !== false) cases.push([built.base, '', [empty]]);
    if (refused !== undefined) cases.push([built.base, refused, error, own]);
    if (search !== false) {
      cases.push(
        [built.base, search, ['Nothing matches this search. Try a broader one, or show all'], own],
        [unreachable, search, down, `${own}?${search}`],
        [unreachable, `${search}&cursor=x`, down, `${own}?${search}&cursor=x`],
        [built.base, 'cursor=nonsense', ['cannot be shown.', 'Go to the first page.'], own],
      );
    }
    for (const [origin, query, said, to] of cases) {
      const { status, text, links } = await shown(origin, list, query);
      const name = `${origin} ${query}`;
      t.equal(status, 200, name);
      for (const sentence of said) t.ok(text.includes(sentence), `${name}: ${text}`);
      t.ok(to === undefined ? links.length > 0 : links.includes(to), `${name} leads to ${links.join(' ')}`);
      for (const href of links) t.equal((await browser.get(href)).status, 200, `${name}: ${href}`);
    }
  });
}

t.test('a list without rows has no search, and one whose search has none has', async (t) => {
  for (const [query, isSearched] of [
    ['', false],
    ['?q=x', true],
  ] as const) {
    const { html } = await browser.get(`/dashboard/items${query}`);
    t.equal(html.includes('<form class="search"'), isSearched, query);
  }
  const down = await fetch(`${unreachable}/dashboard/items`, { headers: { cookie } });
  t.match(await down.text(), '<form class="search"', 'nobody knows whether there are any');
});

t.test('a page whose rows have gone leads to the first page of its search', async (t) => {
  const ids: string[] = [];
  for (let i = 0; i < 21; i += 1) {
    const { body } = await built.call('POST', '/api/v1/items', 'admin', { name: `gone ${i}`, value: i });
    ids.push(String(body.id));
  }
  const { html } = await browser.get('/dashboard/items?q=gone');
  const next =
    /href="\/dashboard\/items\?([^"]*cursor=[^"]*)"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? '';
  for (const id of ids) await built.call('DELETE', `/api/v1/items/${id}`);
  const { text, links } = await shown(built.base, 'items', next);
  t.equal(text, 'There are no more items. Go to the first page.');
  t.same(links, ['/dashboard/items?q=gone']);
});

t.test('an application is found by its name, however many others have the same word in theirs', async (t) => {
  const create = (person: string, name: string) =>
    built.call('POST', '/api/v1/applications', person, { name, type: 'machine', scopes: ['read:data'] });
  for (let i = 0; i < 51; i += 1) {
    for (const person of ['editor', 'admin']) t.equal((await create(person, `Common ${i}`)).status, 201);
  }
  await create('ann', 'Common');
  const log = await browser.get('/dashboard/audit?action=application.created&client=Common');
  t.match(log.html, '1 entry found');
});

t.test('a search finds what stands in the list', async (t) => {
  const found = async (path: string) => {
    const { html } = await browser.get(`/dashboard/${path}`);
    const rows = html.slice(html.indexOf('<tbody>'), html.indexOf('</tbody>'));
    return [...rows.matchAll(/<th scope="row">(.*?)<\/th>/gs)].map(([, cell = '']) =>
      cell.replace(/<br>.*/s, '').replaceAll(/<[^>]+>/g, ''),
    );
  };
  const { ann } = built.people;
  await built.call('PATCH', `/v1/users/${ann.id}`, 'admin', { name: 'Ann-Sophie Lind' });
  for (const query of ['q=nn', 'q=phie+li', 'q=ann@exam', `q=${ann.id}`]) {
    t.same(await found(`users?${query}`), ['ann'], query);
  }
  t.same(await found('users?sort=username'), ['admin', 'ann', 'editor']);
  t.same(await found('users?role=admin&status=active'), ['admin']);
  t.match((await browser.get('/dashboard/users?q=nn')).html, 'Ann-Sophie Lind');

  const product = { name: 'Pen', price: 1, currency: 'EUR', stock: 9 };
  const { body: pen } = await built.call('POST', '/v2/products', 'admin', product);
  const items = [{ product_id: pen.id, quantity: 1 }];
  const order = { user_id: ann.id, items, currency: 'EUR' };
  const { body: placed } = await built.call('POST', '/v2/orders', 'admin', order);
  const id = String(placed.id);
  for (const q of [id, id.slice(0, 12), 'ann', 'ANN@example.org', ann.id]) {
    t.same(await found(`orders?q=${q}`), [id], q);
  }
  t.same(await found('orders?q=editor'), []);
  const wanted = { name: 'Wanted', type: 'machine', scopes: ['read:data'] };
  const { body: application } = await built.call('POST', '/api/v1/applications', 'ann', wanted);
  t.same(await found(`applications?q=${application.client_id}`), ['Wanted']);
});

t.test('a search that did not look at everybody says so', async (t) => {
  const crowd = Array.from({ length: 2001 }, (_, i) => ({ name: `Crowd ${i}` }));
  for (let i = 0; i < crowd.length; i += 100) {
    await Promise.all(crowd.slice(i, i + 100).map((it) => built.call('POST', '/users', 'admin', it)));
  }
  for (const [q, count] of [
    ['crow', '2,001 users found. Others may have the text in the middle of a word: '],
    ['crowd+2000', '1 user found.</p>'],
  ] as const) {
    t.match((await browser.get(`/dashboard/users?q=${q}`)).html, count, q);
  }
});
