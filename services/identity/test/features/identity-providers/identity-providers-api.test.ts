import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { createFormBrowser } from '@gatehouse/testing/form-browser';
import { listen } from '@gatehouse/testing/listen';
import { skip, startNats } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { sealedProviderSecrets } from '../../../src/features/identity-providers/resealing.ts';
import { keysCommand } from '../../../src/keys/keys-command.ts';
import { build } from '../../build.ts';
import { connectCommandLine } from '../../command-line.ts';
import { heading } from '../../pages.ts';
import { leave, respond, signInBy, startUpstream, verified } from './upstream.ts';

const LOOPBACK = ['127.0.0.0/8'];
const SECRET = 'the-secret-of-gatehouse-at-the-other-provider';
const PATH = '/api/v1/identity-providers';

const upstream = await startUpstream(t);
const masterKey = randomBytes(32);
const built = await build(t, {
  ...{ checkResponses: true, masterKey },
  config: {
    providerNetworks: LOOPBACK,
    identityProviders: upstream.settings({ id: 'fixed', label: 'Fixed' }),
  },
});
upstream.start(built.base);
const { call } = built;
const admin = await built.login('admin');
const entry = {
  id: 'acme',
  label: 'Acme',
  issuer: upstream.issuer,
  client_id: 'gatehouse',
  client_secret: SECRET,
};
const stored = async () => (await built.database()).collection('identity_providers');
const signInPage = async (base = built.base) =>
  (await createFormBrowser(base).get('/account')).html
    .match(/Sign in with \w+/g)
    ?.filter((it) => !/passkey/.test(it));

t.test('an admin adds a provider, people sign in with it, and it is changed and removed', async (t) => {
  const added = await call('POST', PATH, admin, entry);
  t.match(added, {
    status: 201,
    body: {
      ...{ id: 'acme', source: 'api', issuer: upstream.issuer, domains: null, connected_accounts: 0 },
      redirect_uri: `${built.base}/sign-in/providers/acme/callback`,
    },
  });
  t.notMatch(JSON.stringify(added.body), SECRET, 'the secret is not returned');
  t.notMatch(JSON.stringify(await (await stored()).find().toArray()), SECRET, 'the secret is stored sealed');
  const again = await call('POST', PATH, admin, entry);
  t.match([again.status, again.body.error], [409, { message: /id acme/ }]);

  const visitor = built.browser();
  t.equal(heading(await signInBy(upstream, visitor, verified('ada'))), 'Profile');
  t.match((await call('GET', `${PATH}/acme`, admin)).body, { connected_accounts: 1 });

  const changed = await call('PATCH', `${PATH}/acme`, admin, { label: 'Acme Inc', sign_up: 'off' });
  t.match(
    [changed.status, changed.body],
    [200, { label: 'Acme Inc', sign_up: 'off', client_id: 'gatehouse' }],
  );
  const refused = await signInBy(upstream, built.browser(), verified('eve'));
  t.match(
    refused.html,
    /There is no account for your Acme Inc account/,
    'the secret stays, and new settings apply',
  );
  t.match((await call('PATCH', `${PATH}/acme`, admin, { sign_up: null })).body, {
    sign_up: null,
    label: 'Acme Inc',
  });

  t.equal((await call('DELETE', `${PATH}/acme`, admin)).status, 204);
  t.equal((await call('GET', `${PATH}/acme`, admin)).status, 404);
  t.strictSame(await signInPage(), ['Sign in with Fixed']);
  const { body } = await call('GET', '/api/v1/audit', admin);
  const actions = (body.data as { action: string; actor: unknown; details: object }[])
    .filter(({ action }) => action.startsWith('identity_provider'))
    .map(({ action, actor, details }) => [action, actor, details]);
  const by = built.people.admin.id;
  t.strictSame(actions.toReversed(), [
    ['identity_provider.added', by, { provider: 'acme' }],
    ['identity_provider.changed', by, { provider: 'acme', fields: ['label', 'sign_up'] }],
    ['identity_provider.changed', by, { provider: 'acme', fields: ['sign_up'] }],
    ['identity_provider.removed', by, { provider: 'acme' }],
  ]);
});

t.test('other replicas offer it within seconds', { skip }, async (t) => {
  const natsUrl = (await startNats(t)).url;
  const base = await built.replica({ natsUrl, identityProviders: [], providerNetworks: LOOPBACK });
  t.equal(await signInPage(base), undefined);
  await call('POST', PATH, admin, entry);
  await until(async () => (await signInPage(base))?.join() === 'Sign in with Acme', 10_000);
  await call('DELETE', `${PATH}/acme`, admin);
  await until(async () => (await signInPage(base)) === undefined, 10_000);
  t.pass();
});

t.test('what is wrong, or does not respond, is refused at its field', async (t) => {
  let metadata = {};
  const other = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(metadata));
  });
  const otherIssuer = `http://127.0.0.1:${await listen(t, other)}`;
  for (const [name, sent, field] of [
    ['an unknown member', { ...entry, domian: ['a.example'] }, 'domian'],
    ['no secret', { ...entry, client_secret: undefined }, 'client_secret'],
    ['a reserved id', { ...entry, id: 'passkey' }, 'id'],
    ['a label that turns round', { ...entry, label: 'Acme \u202e' }, 'label'],
    ['plain HTTP', { ...entry, issuer: 'http://id.acme.example' }, 'issuer'],
    ['nothing there', { ...entry, issuer: 'http://127.0.0.1:9' }, 'issuer'],
  ] as const) {
    const { status, body } = await call('POST', PATH, admin, sent);
    t.match([status, body.error], [400, { details: [{ field }] }], name);
    t.notMatch(JSON.stringify(body), SECRET);
  }
  const closed = { ...entry, issuer: 'http://127.0.0.1:9' };
  const { body } = await call('POST', PATH, admin, closed);
  const { message } = body.error as { message: string };
  const problem =
    'could not be confirmed, since its metadata cannot be read: the server refused the connection';
  t.equal(message, `The issuer ${problem}.`, 'a class of failure, without an address');
  for (const [sent, problem] of [
    [{ issuer: 'https://somebody.else.example' }, /issuer/],
    [
      { issuer: otherIssuer, authorization_endpoint: 'javascript:alert(1)' },
      /authorization_endpoint is no https URL/,
    ],
  ] as const) {
    metadata = sent;
    const { status, body } = await call('POST', PATH, admin, { ...entry, issuer: otherIssuer });
    t.match([status, body.error], [400, { details: [{ field: 'issuer', message: problem }] }]);
  }
  t.equal((await call('POST', PATH, admin, { ...entry, id: 'fixed' })).status, 409, 'an id of the setting');
  for (const [method, sent] of [
    ['PATCH', { label: 'Mine' }],
    ['DELETE', undefined],
  ] as const) {
    t.equal((await call(method, `${PATH}/fixed`, admin, sent)).status, 409, 'those of the setting stay');
  }
  t.equal(await (await stored()).countDocuments(), 0);
});

t.test(
  'another issuer gets the secret if it is sent again, and none of the accounts of the first one',
  async (t) => {
    const other = await startUpstream(t);
    other.start(built.base);
    await call('POST', PATH, admin, entry);
    await signInBy(upstream, built.browser(), verified('grace'));
    const change = (body: object) => call('PATCH', `${PATH}/acme`, admin, body);
    for (const [sent, field] of [
      [{ issuer: other.issuer }, 'client_secret'],
      [{ issuer: other.issuer, client_id: 'x', client_secret: null }, 'client_secret'],
      [{ issuer: other.issuer, private_key: SECRET }, 'client_secret'],
      [{ issuer: `${upstream.issuer}/elsewhere` }, 'client_secret'],
    ] as const) {
      const { status, body } = await change(sent);
      t.match([status, body.error], [400, { details: [{ field }] }], JSON.stringify(sent));
    }
    t.same(other.state.requests, [], 'nothing was sent there');
    t.equal(
      (await change({ issuer: upstream.issuer, label: 'Same' })).status,
      200,
      'the same issuer needs none',
    );
    t.equal((await change({ issuer: other.issuer, client_secret: SECRET })).status, 200);
    const page = await signInBy(other, built.browser(), verified('grace'));
    t.not(heading(page), 'Profile', 'the same subject of another issuer is somebody else');
    await call('DELETE', `${PATH}/acme`, admin);
  },
);

t.test('a provider that is off shows no button and refuses its callback, and its links stay', async (t) => {
  await call('POST', PATH, admin, entry);
  const visitor = built.browser();
  t.equal(heading(await signInBy(upstream, visitor, verified('joan'))), 'Profile');
  const away = built.browser();
  const url = await leave(away, await away.get('/account'));
  const { connected_accounts } = (await call('GET', `${PATH}/acme`, admin)).body;
  const commandLine = await connectCommandLine(built, visitor);
  const other = await connectCommandLine(built, built.browser());

  upstream.state.isDown = true;
  const off = await call('PATCH', `${PATH}/acme`, admin, { enabled: false });
  upstream.state.isDown = false;
  t.match([off.status, off.body], [200, { enabled: false, connected_accounts }], 'also while it is away');
  t.strictSame(await signInPage(), ['Sign in with Fixed']);
  t.strictSame(
    [await commandLine.call(), await other.call()],
    [401, 200],
    'the command line of its sessions',
  );
  const back = await respond(upstream, url);
  t.equal((await away.get(back.href)).status, 404, 'a sign-in that had begun');
  const straight = back.search;
  const page = await away.get('/account');
  t.equal((await away.get(`${page.url.pathname}/methods/acme${straight}`)).status, 404);
  const connected = await visitor.get('/account/connected-accounts');
  t.match(connected.html, /<h2>Acme<\/h2>/, 'the connected account is listed, and the session goes on');
  for (const path of ['connect', `connect${straight}`]) {
    t.equal((await visitor.get(`/account/connected-accounts/acme/${path}`)).status, 404, path);
  }
  t.notMatch((await built.browser().get('/account')).html, 'acme');

  t.match((await call('PATCH', `${PATH}/acme`, admin, { enabled: true })).body, { enabled: true });
  t.equal(
    heading(await signInBy(upstream, built.browser(), verified('joan'))),
    'Profile',
    'the same account',
  );
  t.match((await call('GET', `${PATH}/acme`, admin)).body, { connected_accounts });
  await call('DELETE', `${PATH}/acme`, admin);
});

t.test('a test says in a sentence what is wrong', async (t) => {
  const metadata = (issuer: string, more = {}) => ({
    ...{ issuer, authorization_endpoint: 'https://id.example/authorize', jwks_uri: `${issuer}/keys` },
    ...{ token_endpoint: `${issuer}/token`, ...more },
  });
  type Reply = { status?: number; body?: unknown };
  let replies: Record<string, Reply> = {};
  const other = createServer((request, response) => {
    const { status = 200, body = '' } = replies[request.url ?? ''] ?? { status: 404 };
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  const issuer = `http://127.0.0.1:${await listen(t, other)}`;
  const DISCOVERY = '/.well-known/openid-configuration';
  const good = {
    [DISCOVERY]: { body: metadata(issuer) },
    '/keys': { body: { keys: [{ kty: 'EC' }] } },
    '/token': { status: 400, body: { error: 'invalid_grant' } },
  };
  replies = good;
  await call('POST', PATH, admin, { ...entry, id: 'tried', issuer });
  const cases: [replies: Record<string, Reply>, problem: RegExp | null][] = [
    [{}, null],
    [{ [DISCOVERY]: { status: 503 } }, /^Its metadata cannot be read: .*\.$/],
    [{ [DISCOVERY]: { body: metadata('https://x.example') } }, /^Its metadata cannot be read: .*issuer/],
    [
      { [DISCOVERY]: { body: metadata(issuer, { jwks_uri: undefined }) } },
      /^Its signing keys cannot be read: its metadata has no jwks_uri\.$/,
    ],
    [{ '/keys': { status: 500 } }, /^Its signing keys cannot be read: the server responded with 500\.$/],
    [{ '/keys': { body: { keys: [] } } }, /^Its signing keys cannot be read: the response has no keys\.$/],
    [{ '/token': { status: 401 } }, /^It does not accept the client ID or the secret\.$/],
    [{ '/token': { body: { error: 'incorrect_client_credentials' } } }, /^It does not accept/],
    [
      { '/token': { status: 502 } },
      /^Its token endpoint does not respond as it should: the server responded with 502\.$/,
    ],
  ];
  for (const [changed, problem] of cases) {
    replies = { ...good, ...changed };
    const { status, body } = await call('POST', `${PATH}/tried/test`, admin);
    t.match([status, body.ok], [200, problem === null], String(problem));
    if (problem === null) t.equal(body.problem, null);
    else t.match(body.problem, problem);
    t.notMatch(JSON.stringify(body), SECRET);
  }
  await call('DELETE', `${PATH}/tried`, admin);
  t.strictSame(
    (await call('POST', `${PATH}/fixed/test`, admin)).body,
    { ok: true, problem: null },
    'a real one',
  );
  upstream.state.isDown = true;
  t.match((await call('POST', `${PATH}/fixed/test`, admin)).body, { ok: false, problem: /^Its metadata/ });
  upstream.state.isDown = false;
});

t.test('only admins see and change providers, after a fresh sign-in where that is needed', async (t) => {
  const ann = await built.login('ann');
  for (const [method, path, body] of [
    ['GET', PATH],
    ['POST', PATH, entry],
    ['GET', `${PATH}/fixed`],
    ['PATCH', `${PATH}/fixed`, { label: 'Mine' }],
    ['DELETE', `${PATH}/fixed`],
    ['POST', `${PATH}/fixed/test`],
  ] as const) {
    t.equal((await call(method, path, ann, body)).status, 403, `${method} ${path}`);
    t.equal((await call(method, path, undefined, body)).status, 401);
  }
});

t.test('a provider in a private network is refused unless the operator allows the network', async (t) => {
  const strict = await build(t);
  const token = await strict.login('admin');
  const before = upstream.state.requests.length;
  const { status, body } = await strict.call('POST', PATH, token, entry);
  t.match([status, body.error], [400, { message: /not on the public internet/ }]);
  t.equal(upstream.state.requests.length, before, 'nothing was sent there');
});

t.test(
  'secrets are sealed again for a new master key, and one that cannot be opened leaves the others',
  async (t) => {
    await call('POST', PATH, admin, entry);
    const next = randomBytes(32);
    const lines: string[] = [];
    const reseal = (masterKeys: [Buffer, ...Buffer[]]) =>
      keysCommand({
        ...{
          task: 'reseal',
          mongodbUri: built.config.mongodbUri,
          masterKeys,
          sealed: [sealedProviderSecrets],
        },
        write: (line) => void lines.push(line),
      });
    t.equal(await reseal([next, masterKey]), 0, lines.join());
    const config = {
      providerNetworks: LOOPBACK,
      identityProviders: upstream.settings({ id: 'fixed', label: 'Fixed' }),
    };
    const both = ['Sign in with Fixed', 'Sign in with Acme'];
    t.strictSame(await signInPage(await built.replica({ ...config, masterKeys: [next] })), both);
    await (await stored()).updateOne({ _id: 'acme' as never }, { $set: { sealed_secrets: 'AAAA' } });
    t.strictSame(await signInPage(await built.replica({ ...config, masterKeys: [next] })), [
      'Sign in with Fixed',
    ]);
  },
);
