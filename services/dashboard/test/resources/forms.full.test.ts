import type { Page } from '@gatehouse/testing/form-browser';
import t from 'tap';
import { build, codeOf, heading } from '../build.ts';

/** What an API refuses or the page says about a form as a whole. */
/** The message of a form that was refused; a single one is at its field. */
const alertOf = ({ html }: Page) =>
  /role="alert"[^>]*>[\s\S]*?<\/div>|<p class="field-problem"[^>]*>[^<]*<\/p>/.exec(html)?.[0] ?? '';
const EDIT = 'name="shown"';
t.setTimeout(120_000);

t.test('forms of the dashboard', async (t) => {
  const built = await build(t);
  const { base } = built;
  const { browser } = await built.signedIn('admin');
  type Made = { id: string; client_id: string };
  const make = async (path: string, body: object) =>
    (await built.call<Made>('POST', path, 'admin', body)).body;
  const product = (name: string) =>
    make('/v2/products', { name, description: 'old', price: 2.5, currency: 'EUR', stock: 10 });
  const order = async (id: string, quantity: number) =>
    make('/v2/orders', { items: [{ product_id: id, quantity }], currency: 'EUR' });

  await t.test('a form overwrites nothing that it did not show', async (t) => {
    const tea = await product('Tea');
    const item = await make('/api/v1/items', { name: 'thing', value: 1 });
    const app = await make('/api/v1/applications', { name: 'job', type: 'machine', scopes: ['read:data'] });
    const cases = [
      {
        ...{ page: `/products/${tea.id}`, api: `/v2/products/${tea.id}` },
        sent: { description: 'old', status: 'active' },
        mine: { description: 'new' },
        meanwhile: async () => void (await order(tea.id, 4)),
        both: { description: 'new', stock: 6 },
        again: { stock: '20' },
        same: { method: 'PUT', body: { stock: 3 } },
        finally: { stock: 20, description: 'new' },
      },
      {
        ...{ page: `/items/${item.id}`, api: `/api/v1/items/${item.id}`, sent: { value: '1' } },
        mine: { name: 'renamed' },
        meanwhile: async () =>
          void (await built.call('PUT', `/api/v1/items/${item.id}`, 'admin', { value: 2 })),
        both: { name: 'renamed', value: 2 },
        again: { value: '4' },
        same: { method: 'PUT', body: { value: 3 } },
        finally: { name: 'renamed', value: 4 },
      },
      {
        page: `/applications/${app.client_id}`,
        api: `/api/v1/applications/${app.client_id}`,
        sent: { jwks: '' },
        mine: { name: 'nightly' },
        meanwhile: async () =>
          void (await built.call('PATCH', `/api/v1/applications/${app.client_id}`, 'admin', {
            dpop_bound_access_tokens: true,
          })),
        both: { name: 'nightly', dpop_bound_access_tokens: true },
        again: { name: 'hourly' },
        same: { method: 'PATCH', body: { name: 'weekly' } },
        finally: { name: 'hourly', dpop_bound_access_tokens: true },
      },
    ];
    for (const it of cases) {
      const form = await browser.get(`/dashboard${it.page}`);
      await it.meanwhile();
      const saved = await browser.submit(form, { ...it.sent, ...it.mine }, EDIT);
      t.equal(saved.status, 200, it.page);
      t.match((await built.call('GET', it.api)).body, it.both, 'what each of the two has changed is there');

      const shown = await browser.get(`/dashboard${it.page}`);
      const filled = { ...it.sent, ...it.mine, ...('stock' in it.both ? {} : it.again) };
      const fields = { ...filled, ...('value' in it.both ? { value: '4' } : it.again) };
      await built.call(it.same.method, it.api, 'admin', it.same.body);
      const refused = await browser.submit(shown, fields, EDIT);
      t.equal(refused.status, 400, `${it.page}: both have changed the same field`);
      t.match(alertOf(refused), /was changed by somebody else in the meantime/);
      t.match((await built.call('GET', it.api)).body, it.same.body, 'nothing is overwritten');
      await browser.submit(refused, fields, EDIT);
      t.match((await built.call('GET', it.api)).body, it.finally, 'who has been told may replace it');
    }
  });

  await t.test('a choice counts for the state that was shown', async (t) => {
    const { id } = await order((await product('Coffee')).id, 1);
    const path = `/v2/orders/${id}`;
    const page = await browser.get(`/dashboard/orders/${id}/cancel`);
    await built.call('PATCH', `${path}/status`, 'admin', { status: 'confirmed' });
    const refused = await browser.submit(page, { note: 'too late' }, EDIT);
    t.equal(refused.status, 400);
    t.match(refused.html, 'too late');
    t.match((await built.call('GET', path)).body, { status: 'confirmed' });
    await browser.submit(refused, {}, EDIT);
    t.match((await built.call('GET', path)).body, { status: 'cancelled' });

    const user = `/users/${built.people.ann.id}`;
    const profile = await browser.get(`/dashboard${user}`);
    await built.call('PUT', `/v2${user}/role`, 'admin', { role: 'editor' });
    t.equal((await browser.submit(profile, { role: 'admin' }, '/role"')).status, 409);
    t.match((await browser.get(`/dashboard${user}`)).html, '<option value="editor" selected>');
    await built.call('PUT', `/v2${user}/role`, 'admin', { role: 'user' });
  });

  await t.test('two people who save at once do not lose their changes', async (t) => {
    const { id } = await make('/api/v1/items', { name: 'a', value: 0 });
    const path = `/dashboard/items/${id}`;
    for (let i = 1; i <= 5; i += 1) {
      const form = await browser.get(path);
      const before = (await built.call<{ name: string; value: number }>('GET', `/api/v1/items/${id}`)).body;
      const { name, value } = before;
      const sent = { name, value: JSON.stringify(value) };
      const [named, valued] = await Promise.all([
        browser.submit(form, { ...sent, name: `n${i}` }, EDIT),
        browser.submit(form, { ...sent, value: String(i) }, EDIT),
      ]);
      t.match((await built.call('GET', `/api/v1/items/${id}`)).body, {
        name: named.status === 200 ? `n${i}` : name,
        value: valued.status === 200 ? i : value,
      });
    }
  });

  await t.test('a form that is sent twice creates one', async (t) => {
    const password = 'correct horse battery';
    const kinds: [path: string, count: string, fields: Record<string, string>, other: object][] = [
      ['/items', '/api/v1/items?cursor=&filter[name]=', { name: 'double', value: '1' }, { name: 'second' }],
      [
        '/products',
        '/v2/products?cursor=&filter[name]=',
        { name: 'double', price: '1', currency: 'EUR', stock: '1', status: 'active' },
        { name: 'second' },
      ],
      [
        '/users',
        '/kb/api/v1/users?cursor=&filter[username]=',
        { username: 'double', email: 'double@example.org', password, role: 'user' },
        { username: 'second', email: 'second@example.org' },
      ],
    ];
    for (const [path, list, fields, other] of kinds) {
      const form = await browser.get(`/dashboard${path}/new`);
      const send = (more: object) =>
        browser.submit(form, { ...fields, ...more }, `action="/dashboard${path}/new"`);
      for (const page of [...(await Promise.all([send({}), send({})])), await send({})]) {
        t.equal(page.status, 200, path);
        t.match(page.url.search, 'done=created');
      }
      await send(other);
      for (const name of ['double', 'second']) {
        const { body } = await built.call<{ data: unknown[] }>('GET', list + name);
        t.equal(body.data.length, 1, `${path}: ${name}`);
      }
    }
  });

  await t.test('a form whose answer has a secret, sent twice, creates one', async (t) => {
    const form = await browser.get('/dashboard/applications/new?type=machine');
    const create = (name: string) => browser.submit(form, { name, scopes: 'read:data' }, 'name="name"');
    const [one, ...again] = [
      ...(await Promise.all([create('double'), create('double')])),
      await create('double'),
    ];
    for (const { url } of again) t.equal(url.href, one?.url.href);
    const shown = [one, ...again].filter((page) => page !== undefined && codeOf(page, 'new-credential'));
    t.equal(shown.length, 1, 'its secret is shown once');
    t.equal((await create('')).status, 400);
    t.not((await create('second')).url.pathname, one?.url.pathname);
    for (const name of ['double', 'second']) {
      const path = `/api/v1/applications?q=${name}`;
      t.equal((await built.call<{ data: unknown[] }>('GET', path)).body.data.length, 1, name);
    }

    const path = one?.url.pathname ?? '';
    const count = async (kind: string) => {
      const url = `/api/v1/applications/${path.split('/')[3]}/${kind}`;
      return (await built.call<{ data: unknown[] }>('GET', url)).body.data.length;
    };
    const credentials = await browser.get(path);
    const forms: [action: string, kind: string, fields: Record<string, string>, after: number][] = [
      ['secrets', 'secrets', { expires_in: 'never' }, 2],
      ['keys', 'api-keys', { name: 'k', scopes: 'read:data', key_expires_in: 'never' }, 1],
    ];
    for (const [action, kind, fields, after] of forms) {
      const press = () => browser.submit(credentials, fields, `action="${path}/${action}"`);
      for (const { status } of await Promise.all([press(), press()])) t.equal(status, 200, action);
      t.equal(await count(kind), after, action);
    }
    const withKey = await browser.get(path);
    const question = await browser.get(/href="([^"]+\/keys\/[^"]+\/rotate)"/.exec(withKey.html)?.[1] ?? '');
    const rotate = () => browser.submit(question, { overlap: '3600' }, 'name="confirmation"');
    await Promise.all([rotate(), rotate()]);
    t.equal(await count('api-keys'), 2, 'the old one, which still works, and the new one');
  });

  await t.test('a secret is shown on the page of its application, once', async (t) => {
    const create = async (name: string) => {
      const form = await browser.get('/dashboard/applications/new?type=machine');
      return browser.submit(form, { name, scopes: 'read:data' }, 'name="name"');
    };
    const one = (await create('One')).url.pathname;
    const keyForm = await browser.get(one);
    const cookie = [...browser.cookies(one)].map(([name, value]) => `${name}=${value}`).join('; ');
    // As a browser that is sent on and does not get there.
    const press = (name: string) =>
      fetch(`${base}${one}/keys`, {
        ...{ method: 'POST', redirect: 'manual', headers: { cookie } },
        body: new URLSearchParams({
          csrf: /name="csrf" value="([^"]+)"/.exec(keyForm.html)?.[1] ?? '',
          ...{ name, scopes: 'read:data', key_expires_in: 'never' },
        }),
      });
    t.same([(await press('export')).status, (await press('import')).status], [303, 303]);
    t.notMatch((await create('Two')).html, 'Your new API key', 'another application has its own');
    t.equal((await browser.get('/dashboard/applications/app_nothing/credentials')).status, 404);
    t.equal((await fetch(base + one, { method: 'HEAD', headers: { cookie } })).status, 200);
    const page = await browser.get(one);
    const keys = [codeOf(page, 'new-credential'), codeOf(page, 'new-credential-1')];
    t.equal(new Set(keys).size, 2, 'each of two is there');
    for (const key of keys) {
      const headers = { authorization: `ApiKey ${key}` };
      t.equal((await fetch(`${base}/api/v1/items`, { headers })).status, 200);
    }
    t.notMatch((await browser.get(one)).html, 'new-credential');
  });

  await t.test('unknown objects are not found, whatever their names', async (t) => {
    const app = await make('/api/v1/applications', { name: 'x', type: 'machine', scopes: ['read:data'] });
    const cases: [path: string, status: number, html?: RegExp][] = [
      ...['items', 'products', 'applications', 'users', 'dead-letters', 'queues'].flatMap((it) =>
        ['constructor', '__proto__'].map((name): [string, number] => [`/${it}?done=${name}`, 200]),
      ),
      [`/applications/${app.client_id}/credentials?done=toString`, 200],
      ['/audit?to=%2B275760-09-13', 200, /cannot be shown/],
      ['/audit?to=2026-02-30', 200, /cannot be shown/],
      ['/audit?to=9999-12-31', 200, /Signed in|entries/],
      ...['/products/categories', '/products/search', '/users/profile', '/users/me'].map(
        (path): [string, number] => [path, 404],
      ),
      ...['/reports/generate', '/items/itm_x', '/orders/prd_01', '/notifications/x'].map(
        (path): [string, number] => [path, 404],
      ),
    ];
    for (const [path, status, html] of cases) {
      const page = await browser.get(`/dashboard${path}`);
      t.equal(page.status, status, path);
      t.notMatch(page.html, /native code|class="notice"/, path);
      if (html !== undefined) t.match(page.html, html, path);
    }
  });

  await t.test('a form without the id of what is meant changes nothing', async (t) => {
    const sessions = async () =>
      (await built.call<{ data: unknown[] }>('GET', '/api/v1/sessions')).body.data.length;
    const before = await sessions();
    const page = await browser.get(`/dashboard/users/${built.people.admin.id}`);
    const ended = await browser.submit(page, { id: ' ' }, '/sessions/end"');
    t.equal(ended.status, 400);
    t.equal(await sessions(), before);
    for (const path of ['/dead-letters/replay', '/queues/change']) {
      const html = page.html.replaceAll(/action="[^"]*\/sessions\/end"/g, `action="/dashboard${path}"`);
      t.equal((await browser.submit({ ...page, html }, { id: '' }, path)).status, 400, path);
    }
  });

  await t.test('nobody takes away their own authority', async (t) => {
    const own = `/dashboard/users/${built.people.admin.id}`;
    const page = await browser.get(own);
    t.notMatch(page.html, `${own}/role"`);
    for (const path of [`${own}/role`, `${own}/activate`, `${own}/deactivate`, `${own}/delete`]) {
      const html = page.html.replaceAll(/action="[^"]*\/sessions\/end"/g, `action="${path}"`);
      const sent = await browser.submit({ ...page, html }, { role: 'user', status: 'inactive' }, path);
      t.equal(sent.status, 409, path);
    }
    t.equal((await browser.get('/dashboard/signing-keys')).status, 200);
  });

  await t.test('a name is confirmed as it is seen', async (t) => {
    for (const [name, typed] of [
      ['two  blanks', 'two blanks'],
      ['two  blanks', 'two  blanks'],
      ['line 1\nline 2', 'line 1line 2'],
    ] as const) {
      const { id } = await make('/api/v1/items', { name, value: 1 });
      const page = await browser.get(`/dashboard/items/${id}`);
      t.equal((await browser.confirm(page, '/delete', { confirmation: 'blanks' })).status, 400);
      const deleted = await browser.confirm(page, '/delete', { confirmation: typed });
      t.equal(heading(deleted), 'Items', JSON.stringify([name, typed]));
    }
  });

  await t.test(
    'what is wrong is said at its field, and loading the page anew sends nothing again',
    async (t) => {
      const machine = await make('/api/v1/applications', {
        name: 'm',
        type: 'machine',
        scopes: ['read:data'],
      });
      const account = { username: 'new', email: 'new@example.org', password: 'correct horse', role: 'user' };
      const cases: [
        page: string,
        form: string,
        fields: Record<string, string>,
        at: string,
        sentence: RegExp,
      ][] = [
        [
          '/users/new',
          'name="email"',
          { ...account, username: 'ann' },
          'username',
          /^The username is already taken\.$/,
        ],
        ['/users/new', 'name="email"', { ...account, password: 'short' }, 'password', /^The password must /],
        [
          `/applications/${machine.client_id}/credentials`,
          'key_expires_in',
          { name: 'k', key_expires_in: 'never' },
          'scopes',
          /scope/,
        ],
        [
          '/notifications/new',
          'name="message"',
          { user_id: 'nobody', message: 'x' },
          'user_id',
          /no user with the username “nobody”/,
        ],
      ];
      for (const [path, form, fields, at, sentence] of cases) {
        const refused = await browser.submit(await browser.get(`/dashboard${path}`), fields, form);
        t.equal(refused.status, 400, path);
        t.match(refused.url.searchParams.get('refused'), /./, 'the answer is a page of its own');
        const problem = new RegExp(`id="${at}-problem">([^<]*)<`).exec(refused.html)?.[1];
        t.match(problem, sentence, path);
        // Boxes cannot have the focus together, so that the summary leads to them.
        t.equal(refused.html.split(problem ?? '').length, at === 'scopes' ? 3 : 2, 'once');
        t.match(
          refused.html,
          at === 'scopes' ? `<a href="#${at}">` : new RegExp(`id="${at}"[^>]* autofocus`),
        );
        const again = await browser.get(refused.url.href);
        t.equal(again.status, 200);
        t.notMatch(again.html, 'field-problem');
      }
      const made = await browser.submit(
        await browser.get('/dashboard/users/new'),
        { ...account, role: 'editor' },
        'name="email"',
      );
      t.match(made.html.replaceAll(/<[^>]+>/g, '').replaceAll(/\s+/g, ' '), /Roleeditor/);
    },
  );

  await t.test('a number is one in digits', async (t) => {
    const form = await browser.get('/dashboard/products/new');
    const fields = { name: 'N', price: '1', currency: 'EUR', stock: '1', status: 'active' };
    for (const wrong of [{ price: '0x10' }, { stock: '1e2' }, { price: '1.' }, { stock: 'Infinity' }]) {
      const refused = await browser.submit(form, { ...fields, ...wrong }, 'name="price"');
      t.equal(refused.status, 400, JSON.stringify(wrong));
      t.match(alertOf(refused), `id="${Object.keys(wrong)[0]}-problem"`);
    }
  });

  await t.test('a request that is tried says why there is no token', async (t) => {
    const bound = await browser.submit(
      await browser.get('/dashboard/applications/new?type=machine'),
      { name: 'Bound', scopes: 'read:data', dpop_bound_access_tokens: 'yes' },
      'name="name"',
    );
    const secret = codeOf(bound, 'new-credential') ?? '';
    const page = await browser.get(bound.url.pathname.replace('/credentials', '/quick-start'));
    const tried = await browser.submit(page, { request: 'items', client_secret: secret }, 'client_secret');
    t.match(alertOf(tried), 'bound to its own key (DPoP)');
    const { client_id: id } = await make('/api/v1/applications', {
      ...{ name: 'Plain', type: 'machine', scopes: ['read:data'] },
    });
    const plain = await browser.get(`/dashboard/applications/${id}/quick-start`);
    const wrong = await browser.submit(
      plain,
      { request: 'constructor', client_secret: 'x' },
      'client_secret',
    );
    t.match(alertOf(wrong), 'This is not a valid secret');
  });

  await t.test('entries stay when the API is away', async (t) => {
    const away = 'http://127.0.0.1:1';
    const { serviceUrls } = built.config;
    const origin = await built.replica({ serviceUrls: { ...serviceUrls, items: away } });
    const cookie = [...browser.cookies('/dashboard')].map(([name, value]) => `${name}=${value}`).join('; ');
    const path = `${origin}/dashboard/items/new`;
    const form = await (await fetch(path, { headers: { cookie } })).text();
    const csrf = /name="csrf" value="([^"]+)"/.exec(form)?.[1] ?? '';
    const body = new URLSearchParams({ csrf, name: 'kept', value: '"what was typed"' });
    const html = await (await fetch(path, { method: 'POST', headers: { cookie }, body })).text();
    t.match(html, 'cannot be reached');
    t.match(html, 'what was typed');
    t.match(html, csrf, 'sent again, it is the same request');
  });
});
