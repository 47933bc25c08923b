import t from 'tap';
import type { OpenApiDocument } from '../../../src/docs/openapi/document.ts';
import { build, textOf } from '../../build.ts';

const built = await build(t, { notifications: true });
const pathOf = (operation: string) => `/dashboard/try/${encodeURIComponent(operation)}`;
const ITEM = { body: '{"name": "tried", "value": true}' };

t.test('every operation of the reference has a page, and every GET request is sent', async (t) => {
  const { browser } = await built.signedIn('admin');
  const document = (await (await fetch(`${built.base}/openapi.json`)).json()) as OpenApiDocument;
  const operations = Object.values(document.paths).flatMap((item) => Object.entries(item));
  t.ok(operations.length > 200);
  for (const [method, { operationId: id, parameters = [] }] of operations) {
    const page = await browser.get(pathOf(id));
    t.equal(page.status, 200, id);
    if (method !== 'get') continue;
    const needed = parameters.filter((it) => it.in === 'path' || it.required === true);
    const fields = Object.fromEntries(needed.map((it) => [`${it.in}.${it.name}`, 'x']));
    const tried = await browser.submit(page, fields, 'Send the request');
    t.match(textOf(tried), /Response: (?:[234]\d\d|503), after/, id);
  }
  const reference = await browser.get('/docs/api/api-v1-items');
  t.match(reference.html, `href="${pathOf('create_api_v1_items')}"`);
  t.equal((await browser.get(pathOf('constructor'))).status, 404);
});

t.test('a request is sent as the person, or with the credential that was entered', async (t) => {
  const { browser } = await built.signedIn('ann');
  const send = async (operation: string, fields: Record<string, string>) =>
    browser.submit(await browser.get(pathOf(operation)), fields, 'Send the request');
  const created = await send('create_api_v1_items', ITEM);
  t.match(textOf(created), /Response: 201/);
  const id = /itm_\w{26}/.exec(textOf(created))?.[0] ?? '';
  const { body: stored } = await built.call('GET', `/api/v1/items/${id}`, 'ann');
  t.match(JSON.stringify(stored), 'tried');

  const page = await browser.get(pathOf('create_api_v1_items'));
  const twice = { body: '{"name": "sent twice", "value": 1}' };
  const first = await browser.submit(page, twice, 'Send the request');
  const second = await browser.submit(page, twice, 'Send the request');
  const ids = [first, second].map((it) => /itm_\w{26}/.exec(textOf(it))?.[0]);
  t.equal(ids[0], ids[1], 'a form that is sent twice creates one thing');

  const application = { name: 'Try', type: 'machine', scopes: ['read:data'] };
  type Made = { client_id: string; client_secret: string };
  const { body: made } = await built.call<Made>('POST', '/api/v1/applications', 'ann', application);
  const credentials = { client_id: made.client_id, client_secret: made.client_secret };
  const issued = await send('oauth2_token', { ...credentials, body: 'grant_type=client_credentials' });
  t.match(textOf(issued), /Response: 200/);
  t.notMatch(issued.html, made.client_secret, 'what was typed is not sent back');
  const token = /access_token&quot;: &quot;([\w.-]+)/.exec(issued.html)?.[1] ?? '';
  const asApplication = await send('create_api_v1_items', { ...ITEM, token_secret: token });
  t.match(textOf(asApplication), /Response: 403/, 'the application may only read');
  t.notMatch(asApplication.html, token);
  t.match(textOf(await send('list_users', {})), /Response: 403/, 'developers do not see the users');

  const unconfirmed = await send('remove_api_v1_items', { 'path.item_id': id });
  t.equal(unconfirmed.status, 400);
  t.match(textOf(unconfirmed), 'Confirm the deletion.');
  t.equal((await built.call('GET', `/api/v1/items/${id}`, 'ann')).status, 200, 'nothing was deleted');
  const removed = await send('remove_api_v1_items', { 'path.item_id': id, confirmed: 'yes' });
  t.match(textOf(removed), /Response: 20[04]/);
  t.equal((await built.call('GET', `/api/v1/items/${id}`, 'ann')).status, 404);
});

t.test('what was entered cannot make another request of it', async (t) => {
  const { browser } = await built.signedIn('ann');
  const cases: [operation: string, fields: Record<string, string>, expected: RegExp][] = [
    ['read_api_v1_items', { 'path.item_id': '..' }, /must not be a dot/],
    ['read_api_v1_items', { 'path.item_id': '' }, /is required/],
    ['read_api_v1_items', { 'path.item_id': '../applications' }, /Response: 404/],
    ['read_api_v1_items', { 'path.item_id': 'x?limit=1#y' }, /GET \/api\/v1\/items\/x%3Flimit%3D1%23y HTTP/],
    [
      'read_api_v1_items',
      { 'path.item_id': 'x', 'header.If-None-Match': 'a\r\nx-evil: 1' },
      /printable ASCII/,
    ],
    ['read_api_v1_items', { 'path.item_id': 'x', token_secret: 'é' }, /printable ASCII/],
    ['list_api_v1_items', { 'query.limit': '1&cursor=' }, /GET \/api\/v1\/items\?limit=1%26cursor%3D HTTP/],
    ['create_api_v1_items', { body: '{"a": <script>' }, /Response: 400/],
  ];
  for (const [operation, fields, expected] of cases) {
    const page = await browser.submit(await browser.get(pathOf(operation)), fields, 'Send the request');
    t.match(textOf(page), expected, JSON.stringify(fields));
    t.notMatch(page.html, '<script>');
  }
});
