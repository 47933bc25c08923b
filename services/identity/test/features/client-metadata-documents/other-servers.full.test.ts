import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { formsOf } from '@gatehouse/testing/form-browser';
import { listen } from '@gatehouse/testing/listen';
import { until } from '@gatehouse/testing/processes';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import { decodeJwt, generateKeyPair, SignJWT } from 'jose';
import t from 'tap';
import { build, signInAndAllow } from '../../build.ts';
import { heading, send, signedIn } from '../../pages.ts';
import { tokensFor } from '../../tokens.ts';

const ON = {
  clientMetadata: 'on',
  clientMetadataScopes: ['openid', 'profile', 'read:users'],
  clientMetadataNetworks: ['127.0.0.0/8', '::1'],
} as const;
const CALLBACK = 'http://127.0.0.1:49152/callback';
/** Below the five seconds for which a document is waited for. */
const PROMPTLY_MS = 3000;

/** The site of a client, which serves its documents. */
const documents = new Map<string, (request: IncomingMessage, response: ServerResponse) => unknown>();
const requests: string[] = [];
const site = createServer((request, response) => {
  const path = request.url ?? '';
  requests.push(path);
  const respond = documents.get(path);
  if (respond === undefined) response.writeHead(404).end();
  else respond(request, response);
});
const port = await listen(t, site);
const origin = `http://127.0.0.1:${port}`;
const never = () => undefined;

/** Serves a document, and returns its URL: the client_id. */
function publish(path: string, more: object = {}): string {
  const metadata = {
    ...{ client_id: origin + path, client_name: 'Agent of Examples', redirect_uris: [CALLBACK] },
    ...more,
  };
  documents.set(path, (_request, response) => response.end(JSON.stringify(metadata)));
  return origin + path;
}

const built = await build(t, { config: ON });
const { base } = built;
const admin = await built.login('admin');
const RESOURCE = await built.createApplication(admin, { name: 'Checks', type: 'resource', scopes: [] });
const authorize = (id: string, at = base) =>
  `${at}/oauth2/authorize?${new URLSearchParams({
    ...{ client_id: id, response_type: 'code', redirect_uri: CALLBACK, scope: 'openid' },
    ...{ code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' },
  })}`;
const logout = (at: string, parameters: Record<string, string>) =>
  `${at}/oauth2/logout?${new URLSearchParams(parameters)}`;
const SCOPE = 'openid read:users';
const stored = async () =>
  (await built.database()).collection<{ _id: string; expires_at: Date }>('client_metadata_documents');

/** Somebody who has allowed the client, with what it holds. */
async function user(client_id: string, username = 'ann') {
  const browser = built.browser();
  const tokens = await tokensFor(built, {
    ...{ browser, username, client: { client_id, redirect_uri: CALLBACK }, more: { scope: SCOPE } },
  });
  return { browser, username, ...tokens };
}
type User = Awaited<ReturnType<typeof user>>;

const form = async (url: string, fields: Record<string, string>, headers: Record<string, string> = {}) => {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(fields), headers });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> };
};
const refreshAt = (at: string, client_id: string, refresh_token: string) =>
  form(`${at}/oauth2/token`, { grant_type: 'refresh_token', refresh_token, client_id });
/** Submits the form of a page of a replica whose action contains `action`. */
async function submit(at: string, { browser }: User, path: string, action: string, fields = {}) {
  const page = await send(built, 'GET', at + path, { browser });
  const found = formsOf(page.html).find((it) => it.action.includes(action));
  if (found === undefined) return page;
  return send(built, 'POST', at + found.action, { browser, fields: { ...found.fields, ...fields } });
}

/** The states of a document for a replica that has just started. */
const STATES: Record<string, (path: string, replica: string) => unknown> = {
  broken: (path) => documents.set(path, (_request, response) => response.end('[]')),
  hanging: (path) => documents.set(path, never),
  gone: (path) => documents.delete(path),
  async 'rate limited'(_path, replica) {
    for (let i = 0; i < 60; i += 1) await fetch(authorize(`${origin}/missing/${i}`, replica));
    t.equal((await fetch(authorize(`${origin}/missing/60`, replica))).status, 429);
  },
};

/** What needs no document; each returns its status. */
const USES: Record<string, (at: string, id: string, user: User) => Promise<{ status: number }>> = {
  'the refresh of a token': (at, id, { refresh_token }) => refreshAt(at, id, refresh_token),
  'the revocation of a token': (at, client_id, { refresh_token: token }) =>
    form(`${at}/oauth2/revoke`, { token, client_id }),
  async introspection(at, _id, { access_token: token }) {
    const { status, body } = await form(`${at}/oauth2/introspect`, { token, ...RESOURCE });
    return body.active === true ? { status } : { status: 0 };
  },
  userinfo: (at, _id, { access_token }) =>
    fetch(`${at}/userinfo`, {
      headers: { authorization: `Bearer ${access_token}`, origin: 'http://x.example' },
    }),
  async 'the account page of applications'(at, _id, { browser }) {
    const page = await send(built, 'GET', `${at}/account/applications`, { browser });
    return page.html.includes('Agent of Examples') ? page : { status: 0 };
  },
};

/** The ways to sign out. */
const SIGN_OUTS: Record<string, (at: string, id: string, user: User) => Promise<{ status: number }>> = {
  'RP-initiated logout with an ID token': (at, _id, user) =>
    submit(at, user, `/oauth2/logout?id_token_hint=${user.id_token}`, 'confirm', { logout: 'yes' }),
  'RP-initiated logout with a client_id': (at, id, user) =>
    submit(at, user, `/oauth2/logout?client_id=${encodeURIComponent(id)}`, 'confirm', { logout: 'yes' }),
  'RP-initiated logout of nobody': (at, _id, user) =>
    submit(at, user, '/oauth2/logout', 'confirm', { logout: 'yes' }),
  'the account pages': (at, _id, user) => submit(at, user, '/account', '/account/sign-out'),
  async 'the account pages of another session'(at, _id, { username }) {
    const other = { browser: await signedIn(built, username) } as User;
    return submit(at, other, '/account/sessions/end-others', 'end-others', { confirmation: 'yes' });
  },
  async 'the API'(at, _id, { username }) {
    const headers = { authorization: `Bearer ${await built.login(username)}` };
    return fetch(`${at}/api/v1/sessions`, { method: 'DELETE', headers });
  },
};

for (const [state, become] of Object.entries(STATES)) {
  t.test(`while a document is ${state}`, async (t) => {
    const path = `/${encodeURIComponent(state)}.json`;
    const id = publish(path);
    const users: Record<string, User> = {};
    for (const name of Object.keys({ ...USES, ...SIGN_OUTS })) users[name] = await user(id);
    const rateLimit = state === 'rate limited' ? 'on' : 'off';
    const at = await built.replica({ ...ON, rateLimit });
    await become(path, at);
    for (const [name, use] of Object.entries({ ...USES, ...SIGN_OUTS })) {
      const it = users[name] as User;
      const begin = performance.now();
      const { status } = await use(at, id, it);
      t.ok(performance.now() - begin < PROMPTLY_MS, `${name}: promptly`);
      t.ok(status >= 200 && status < 400, `${name}: ${status}`);
      if (!Object.hasOwn(SIGN_OUTS, name)) continue;
      const page = await send(built, 'GET', `${at}/account`, it);
      t.equal(page.status, 303, `${name}: the session has ended`);
      const { status: refreshed } = await refreshAt(at, id, it.refresh_token);
      t.equal(refreshed, 400, `${name}: the grant has ended`);
    }
    const { status } = await fetch(authorize(id, at), { redirect: 'manual' });
    t.ok(status >= 400, `a new authorization request needs the document: ${status}`);
  });
}

t.test('the account of somebody is deleted while a document hangs', async (t) => {
  const id = publish('/deleted.json');
  const person = await built.createPerson('dora');
  const { browser, access_token } = await user(id, 'dora');
  documents.set('/deleted.json', never);
  await browser.submit(await browser.get('/account/delete'), { confirmation: 'dora' }, 'name="confirmation"');
  t.equal((await built.call('GET', `/v1/users/${person}`, admin)).status, 404);
  await until(async () => (await built.call('GET', '/userinfo', access_token)).status === 401, 2000);
});

t.test('an id_token_hint that is not ours has nothing fetched', async (t) => {
  const id = publish('/hinted.json');
  const { id_token, browser } = await user(id);
  const at = await built.replica(ON);
  const claims = { ...decodeJwt(id_token), aud: `${origin}/unknown.json` };
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const { privateKey } = await generateKeyPair('RS256');
  const foreign = (more: object) =>
    new SignJWT({ ...claims, ...more }).setProtectedHeader({ alg: 'RS256' }).sign(privateKey);
  const before = requests.length;
  for (const [name, hint] of Object.entries({
    unsigned: `${encode({ alg: 'none' })}.${encode(claims)}.`,
    'with another payload': id_token.replace(/\..*\./, `.${encode(claims)}.`),
    'signed by somebody else': await foreign({}),
    'for a client that is known': await foreign({ aud: id }),
    'for two clients': await foreign({ aud: [id, `${origin}/unknown.json`] }),
    'for what is no client_id': await foreign({ aud: 'http://user:secret@127.0.0.1/' }),
  })) {
    for (const more of [
      {},
      { post_logout_redirect_uri: CALLBACK },
      { client_id: `${origin}/unknown.json` },
    ]) {
      const page = await send(built, 'GET', logout(at, { id_token_hint: hint, ...more }), { browser });
      t.strictSame([page.status, heading(page as never)], [400, 'We could not sign you out'], name);
    }
  }
  const page = await send(built, 'GET', logout(at, { client_id: `${origin}/unknown.json` }), { browser });
  t.equal(heading(page as never), 'Sign out?', 'nor a client_id');
  const wrong = await send(built, 'GET', logout(at, { client_id: 'http://user:secret@127.0.0.1/a' }));
  t.equal(heading(wrong as never), 'Unknown application');
  t.equal(requests.length, before);
});

t.test(
  'requests without an authorization have nothing fetched where no code or token is asked for',
  async (t) => {
    const unknown = `${origin}/stranger.json`;
    const before = requests.length;
    const basic = { authorization: `Basic ${btoa(`${encodeURIComponent(unknown)}:`)}` };
    await form(`${base}/oauth2/revoke`, { token: 'x', client_id: unknown });
    await form(`${base}/oauth2/introspect`, { token: 'x', client_id: unknown });
    await form(`${base}/oauth2/revoke`, { token: 'x' }, basic);
    await form(`${base}/oauth2/token`, {
      grant_type: 'client_credentials',
      client_id: 'x',
      client_secret: unknown,
    });
    t.equal(requests.length, before);
  },
);

t.test('a document counts as soon as it is fetched, and stays known when it is gone again', async (t) => {
  const id = publish('/narrower.json');
  const { refresh_token } = await user(id);
  publish('/narrower.json', { scope: 'openid' });
  const first = await refreshAt(await built.replica(ON), id, refresh_token);
  t.match([first.status, first.body], [200, { scope: 'openid' }]);
  documents.delete('/narrower.json');
  const at = await built.replica(ON);
  const second = await refreshAt(at, id, String(first.body.refresh_token));
  t.match([second.status, second.body], [200, { scope: 'openid' }]);
  const less = { ...ON, clientMetadataScopes: ['profile'] };
  const off = await built.replica(less);
  const third = await refreshAt(off, id, String(second.body.refresh_token));
  t.notMatch(String(third.body.scope), /openid/, 'nor more than the operator allows by now');
});

t.test(
  'only documents of clients that somebody has allowed are kept, for as long as grants live',
  async (t) => {
    const kept = async (_id: string) => (await stored()).findOne({ _id });
    const id = publish('/kept.json');
    const visitor = await signedIn(built, 'ann');
    const page = await visitor.get(authorize(id));
    t.equal(heading(page), 'Allow this application to use your account?');
    t.equal(await kept(id), null);
    await visitor.submit(page, { decision: 'deny' });
    t.equal(await kept(id), null);
    await signInAndAllow(visitor, authorize(id));
    const seconds = (Number((await kept(id))?.expires_at) - Date.now()) / 1000;
    const month = built.config.lifetimes.refreshToken;
    t.ok(seconds > month && seconds < month + 2 * 86_400, `${seconds} s`);
    await (await stored()).updateOne({ _id: id }, { $set: { expires_at: new Date() } });
    documents.delete('/kept.json');
    const at = await built.replica(ON);
    t.equal((await refreshAt(at, id, 'x')).status, 503, 'one that has expired is not used');
  },
);

t.test('a document that is not kept any more is kept again when it is fetched', async (t) => {
  const id = publish('/earlier.json');
  const { refresh_token } = await user(id);
  await (await stored()).deleteOne({ _id: id });
  const first = await refreshAt(await built.replica(ON), id, refresh_token);
  t.equal(first.status, 200);
  t.ok(await (await stored()).findOne({ _id: id }));
});

t.test('slow servers keep nobody else from signing in', async (t) => {
  const at = await built.replica(ON);
  /** The status for a request from an address. */
  const get = (url: string, localAddress: string) =>
    new Promise<number>((resolve, reject) => {
      httpRequest(url, { localAddress }, (response) => resolve(response.resume().statusCode ?? 0))
        .on('error', reject)
        .end();
    });
  const slow: string[] = [];
  for (let i = 0; i < 25; i += 1) documents.set(`/slow/${i}.json`, () => slow.push(`${i}`));
  const hanging = Array.from({ length: 25 }, (_, i) =>
    get(authorize(`http://localhost:${port}/slow/${i}.json`, at), `127.0.0.${2 + Math.floor(i / 8)}`),
  );
  await until(() => slow.length >= 4, 4000);
  t.equal(slow.length, 4, 'of one host');
  const begin = performance.now();
  for (const [path, address, expected] of [
    ['/fine.json', '127.0.0.9', 303],
    ['/slow/9.json', '127.0.0.9', 503],
  ] as const) {
    publish('/fine.json');
    const host = path === '/fine.json' ? '127.0.0.1' : 'localhost';
    t.equal(await get(authorize(`http://${host}:${port}${path}`, at), address), expected, path);
  }
  t.equal(await get(authorize(publish('/own.json'), at), '127.0.0.2'), 503, 'of one address');
  t.ok(performance.now() - begin < 2000, 'at once');
  const statuses = await Promise.all(hanging);
  t.strictSame([...new Set(statuses)], [503]);
});

t.test('an error of somebody else’s server is one sentence, and its details are in the log', async (t) => {
  const { logger, lines } = recordingLogger();
  const { base: at } = await build(t, { logger, config: ON });
  documents.set('/moved.json', (_request, response) => response.writeHead(302, { location: '/' }).end());
  documents.set('/reset.json', (request) => request.socket.destroy());
  for (const [id, detail] of [
    ['http://127.0.0.1:9/refused.json', /ECONNREFUSED/],
    ['https://no-such-host.invalid/agent.json', /ENOTFOUND|EAI_AGAIN/],
    [`https://127.0.0.1:${port}/tls.json`, /SSL/],
    ['https://10.0.0.1/agent.json', /AddressRefusedError/],
    [`${origin}/moved.json`, /status 302/],
    [`${origin}/reset.json`, /other side closed/],
    [`${origin}/gone.json`, /status 404/],
  ] as const) {
    const response = await fetch(authorize(id, at), { redirect: 'manual' });
    t.equal(response.status, 503, id);
    t.equal(
      /<dt>For its developers<\/dt><dd[^>]*>(.*?)<\/dd>/.exec(await response.text())?.[1],
      'temporarily_unavailable: The client ID metadata document could not be fetched.',
      id,
    );
    t.match(JSON.stringify(lines.filter(({ url }) => url === id)), detail, 'in the log');
  }
});
