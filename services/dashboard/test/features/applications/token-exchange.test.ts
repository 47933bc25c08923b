import t from 'tap';
import { build, PASSWORD, textOf } from '../../build.ts';

const built = await build(t);
const MINE = 'https://mine.example/api';
for (const [identifier, ...scopes] of [
  [MINE, 'mine:read'],
  ['https://b.example', 'b:read', 'b:write'],
] as const) {
  const described = scopes.map((name) => ({ name, description: name }));
  await built.call('POST', '/api/v1/resources', 'ann', { identifier, name: identifier, scopes: described });
}

t.test('the APIs for which an application exchanges tokens are lines, of its owner', async (t) => {
  const { browser } = await built.signedIn('ann');
  const make = async (type: string) => {
    const { body } = await built.call('POST', '/api/v1/applications', 'ann', {
      ...{ name: type, type, scopes: type === 'resource' ? [] : ['read:data'] },
      ...(type === 'web' && { redirect_uris: ['https://web.example/callback'] }),
    });
    return String(body.client_id);
  };
  for (const type of ['machine', 'resource']) {
    const id = await make(type);
    const rules = async () =>
      (await built.call('GET', `/api/v1/applications/${id}`, 'ann')).body.token_exchange;
    const path = `/dashboard/applications/${id}`;
    const form = await browser.get(path);
    t.match(textOf(form), 'When a person calls your API, the application can exchange their token', type);
    const refused = await browser.submit(form, { token_exchange: `${MINE}\nnonsense a` }, 'name="name"');
    t.match(textOf(refused), 'Line 2: resource must be an absolute URL');
    const unknown = await browser.submit(form, { token_exchange: `${MINE} a` }, 'name="name"');
    t.match(textOf(unknown), 'Line 1: scopes must not contain a, which tokens for this API cannot have');
    const sent = { token_exchange: ` ${MINE} \r\nhttps://b.example  b:read b:write\r\n` };
    await browser.submit(refused, sent, 'name="name"');
    t.same(await rules(), [
      { resource: MINE, scopes: [] },
      { resource: 'https://b.example', scopes: ['b:read', 'b:write'] },
    ]);
    t.match((await browser.get(path)).html, `${MINE}\nhttps://b.example b:read b:write</textarea>`);
    const named = {
      name: 'Other',
      token_exchange: (await browser.get(path)).html.match(/https:\/\/mine[^<]*/)?.[0] ?? '',
    };
    await browser.submit(await browser.get(path), named, 'name="name"');
    t.match(await rules(), { length: 2 }, 'they stay with another change');

    const developer = { username: `${type}-dev`, email: `${type}@example.org`, password: PASSWORD };
    await built.call('POST', '/v2/users', 'admin', developer);
    const member = { user: developer.username, role: 'developer' };
    await built.call('POST', `/api/v1/applications/${id}/members`, 'ann', member);
    await built.call('POST', `/api/v1/memberships/${id}/accept`, developer.username);
    const seen = await (await built.signedIn(developer.username)).browser.get(path);
    t.notMatch(seen.html, 'name="token_exchange"');
    t.match(textOf(seen), `APIs ${MINE} https://b.example b:read b:write`, 'a developer sees them');
  }
  t.notMatch((await browser.get(`/dashboard/applications/${await make('web')}`)).html, 'token_exchange');
});

t.test('the servers of identity assertions are lines, of admins', async (t) => {
  const draft = { name: 'Wiki', type: 'web', scopes: ['openid'] };
  const uris = { redirect_uris: 'https://wiki.example/callback' };
  const { body } = await built.call('POST', '/api/v1/applications', 'ann', {
    ...draft,
    redirect_uris: [uris.redirect_uris],
  });
  const path = `/dashboard/applications/${body.client_id}`;
  const rules = async () =>
    (await built.call('GET', `/api/v1/applications/${body.client_id}`, 'ann')).body.identity_assertions;
  const FORM = 'name="redirect_uris"';
  const { browser } = await built.signedIn('admin');
  const form = await browser.get(path);
  const refused = await browser.submit(form, { ...uris, identity_assertions: 'https://chat.example' }, FORM);
  t.match(textOf(refused), 'Line 1: client_id must be the client ID of the application there');
  const lines = [
    'https://chat.example f53f chat:read chat:write',
    'https://b.example b1 b:read | https://api.b.example',
  ];
  await browser.submit(refused, { ...uris, identity_assertions: ` ${lines.join('\r\n\r\n')} ` }, FORM);
  t.strictSame(await rules(), [
    { authorization_server: 'https://chat.example', client_id: 'f53f', scopes: ['chat:read', 'chat:write'] },
    {
      ...{ authorization_server: 'https://b.example', client_id: 'b1', scopes: ['b:read'] },
      resources: ['https://api.b.example'],
    },
  ]);
  const saved = await browser.get(path);
  t.match(saved.html, `${lines.join('\n')}</textarea>`);
  const { browser: owner } = await built.signedIn('ann');
  const own = await owner.get(path);
  t.notMatch(own.html, 'identity_assertions');
  await owner.submit(own, { ...uris, post_logout_redirect_uris: 'https://wiki.example/' }, FORM);
  t.match(await rules(), { length: 2 }, 'they stay with another change');
  await browser.submit(saved, { ...uris, identity_assertions: '' }, FORM);
  t.same(await rules(), []);
  t.notMatch((await browser.get('/dashboard/applications/new?type=web')).html, 'identity_assertions');
});
