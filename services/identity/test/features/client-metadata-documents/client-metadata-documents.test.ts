import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { EventTransport } from '@gatehouse/events/local-events';
import type { UsageBatch } from '@gatehouse/server/usage/usage-batch';
import { listen } from '@gatehouse/testing/listen';
import { until } from '@gatehouse/testing/processes';
import { decodeJwt } from 'jose';
import * as client from 'openid-client';
import t from 'tap';
import { build } from '../../build.ts';
import { heading, signedIn } from '../../pages.ts';
import { refresh } from '../../tokens.ts';

const SCOPES = ['openid', 'profile', 'email', 'read:profile'];
const ON = {
  clientMetadata: 'on',
  clientMetadataScopes: SCOPES,
  clientMetadataNetworks: ['127.0.0.0/8'],
} as const;
const CALLBACK = 'http://127.0.0.1:49152/callback';

/** The site of a client, which serves its documents. */
const documents = new Map<string, (request: IncomingMessage, response: ServerResponse) => unknown>();
const requests: string[] = [];
const site = createServer((request, response) => {
  const path = request.url ?? '';
  requests.push(path);
  response.setHeader('content-type', 'application/json');
  const respond = documents.get(path);
  if (respond === undefined) response.writeHead(404).end();
  else respond(request, response);
});
const origin = `http://127.0.0.1:${await listen(t, site)}`;
const metadata = (id: string, more: object = {}) => ({
  ...{ client_id: id, client_name: 'Agent of Examples', redirect_uris: [CALLBACK] },
  ...more,
});

/** Serves a document, and returns its URL: the client_id. */
function publish(path: string, more: object = {}, headers: Record<string, string> = {}): string {
  const id = origin + path;
  documents.set(path, (_request, response) =>
    response.writeHead(200, headers).end(JSON.stringify(metadata(id, more))),
  );
  return id;
}

/** The clients for which requests were counted. */
const counted = new Set<string>();
const events: EventTransport = {
  async publish({ data }) {
    const batch = data as unknown as UsageBatch;
    for (const { client } of [...batch.requests, ...(batch.log ?? [])]) counted.add(String(client));
  },
};
const built = await build(t, { events, config: ON });
const { base } = built;

const VERIFIER = client.randomPKCECodeVerifier();
const CHALLENGE = await client.calculatePKCECodeChallenge(VERIFIER);
const authorizeAt = (id: string, more: Record<string, string> = {}, at = base) =>
  `${at}/oauth2/authorize?${new URLSearchParams({
    ...{ client_id: id, response_type: 'code', redirect_uri: CALLBACK, state: 'state' },
    ...{ code_challenge: CHALLENGE, code_challenge_method: 'S256', ...more },
  })}`;
const discover = (id: string) =>
  client.discovery(new URL(base), id, undefined, client.None(), { execute: [client.allowInsecureRequests] });

t.test('a client that nobody has registered signs somebody in, as openid-client has it', async (t) => {
  const id = publish('/agent.json');
  const config = await discover(id);
  t.equal(config.serverMetadata().client_id_metadata_document_supported, true);
  const visitor = await signedIn(built, 'ann');
  const page = await visitor.get(authorizeAt(id, { scope: SCOPES.join(' ') }));
  t.equal(heading(page), 'Allow this application to use your account?');
  t.match(page.html, 'Agent of Examples');
  t.match(page.html, new RegExp(`describes itself at .*${new URL(origin).host}.*Nobody here has checked`));
  t.match(page.html, /A program on this device gets access/, 'a loopback redirect is warned of');
  const { url } = await visitor.submit(page, { decision: 'allow' });
  const checks = { pkceCodeVerifier: VERIFIER, expectedState: 'state' };
  const tokens = await client.authorizationCodeGrant(config, url, checks);
  t.match(decodeJwt(tokens.access_token), {
    client_id: id,
    sub: built.people.ann.id,
    scope: SCOPES.join(' '),
  });
  t.equal((await built.call('GET', '/userinfo', tokens.access_token)).status, 200);
  const { refresh_token: first = '' } = tokens;
  const renewed = await refresh(built, first, { client_id: id });
  t.equal(renewed.status, 200);
  t.equal(requests.filter((path) => path === '/agent.json').length, 1, 'the document is fetched once');
  t.match((await visitor.get('/account/applications')).html, 'Agent of Examples');
});

t.test('the document says what the client gets, within what the operator allows', async (t) => {
  const visitor = await signedIn(built, 'ann');
  const less = publish('/less.json', { scope: 'openid read:data admin' });
  const { url } = await visitor.submit(await visitor.get(authorizeAt(less)), { decision: 'allow' });
  const tokens = await client.authorizationCodeGrant(await discover(less), url, {
    ...{ pkceCodeVerifier: VERIFIER, expectedState: 'state' },
  });
  t.match(decodeJwt(tokens.access_token), { scope: 'openid' });
  const more = publish('/more.json');
  const refused = await visitor.get(authorizeAt(more, { scope: 'openid read:data' }));
  t.match(refused.url.searchParams.get('error') ?? refused.html, /invalid_scope/);
  for (const wrong of ['http://127.0.0.1:49152/other', 'https://evil.example/callback']) {
    const page = await visitor.get(authorizeAt(more, { redirect_uri: wrong }));
    t.match([page.status, page.url.origin], [400, base], 'a redirect URI that the document does not have');
  }
  const otherPort = await visitor.get(authorizeAt(more, { redirect_uri: 'http://127.0.0.1:5000/callback' }));
  t.equal(heading(otherPort), 'Allow this application to use your account?', 'RFC 8252 §7.3');
  const plain = await visitor.get(authorizeAt(more, { code_challenge: '', code_challenge_method: '' }));
  t.match(plain.url.searchParams.get('error'), 'invalid_request', 'without PKCE');
});

t.test('people are asked again when the document names another redirect URI', async (t) => {
  const visitor = await signedIn(built, 'ann');
  const first = 'https://agent.example/callback';
  const second = 'https://other.example/callback';
  const id = publish('/moving.json', { redirect_uris: [first, second] });
  const asked = { redirect_uri: first, scope: SCOPES.join(' ') };
  await visitor.submit(await visitor.get(authorizeAt(id, asked)), { decision: 'allow' });
  const again = await visitor.get(authorizeAt(id, { redirect_uri: first }));
  t.ok(again.url.searchParams.has('code'), 'not for the one that they know');
  const other = await visitor.get(authorizeAt(id, { redirect_uri: second }));
  t.equal(heading(other), 'Allow this application to use your account?');
  t.match(other.html, 'other.example');
  t.notMatch(other.html, /A program on this device gets access/);
  const more = await visitor.get(authorizeAt(id, { redirect_uri: first, scope: 'openid email' }));
  t.ok(more.url.searchParams.has('code'), 'the scopes that it was allowed');
  const silently = await visitor.get(authorizeAt(id, { redirect_uri: second, prompt: 'none' }));
  t.equal(silently.url.searchParams.get('error'), 'consent_required');
});

t.test('a document names a scheme of its own beside loopback addresses, as editors do', async (t) => {
  const redirect_uri = 'cursor://vendor.tool/callback';
  const id = publish('/editor.json', { redirect_uris: [redirect_uri, CALLBACK] });
  const page = await (await signedIn(built, 'ann')).get(authorizeAt(id, { redirect_uri }));
  t.equal(heading(page), 'Allow this application to use your account?');
  t.match(page.html, /an app on this device[\s\S]*any program can use this name/);
});

t.test('a client that nobody here knows cannot have a browser sent to it without a page', async (t) => {
  const id = publish('/redirect.json', { redirect_uris: ['https://evil.example/'] });
  for (const more of [
    { prompt: 'none' },
    { response_type: 'none' },
    { scope: 'unknown' },
    { max_age: 'x' },
  ]) {
    const request = authorizeAt(id, {
      redirect_uri: 'https://evil.example/',
      ...(more as Record<string, string>),
    });
    const page = await built.browser().get(request);
    t.match([page.url.origin, page.status], [base, 400], JSON.stringify(more));
    t.match(page.html, /<h1>/);
    const visitor = await signedIn(built, 'ann');
    t.equal((await visitor.get(request)).url.origin, 'https://evil.example', 'where somebody is signed in');
  }
  const cancelled = built.browser();
  const page = await cancelled.get(authorizeAt(id, { redirect_uri: 'https://evil.example/' }));
  t.match(page.url.pathname, /^\/sign-in\//, 'a request that shows a page goes on');
});

t.test(
  'documents that cannot be used are refused with the reason, and are not asked for at once again',
  async (t) => {
    const visitor = await signedIn(built, 'ann');
    const wrong = (
      path: string,
      body: string | object,
      headers: Record<string, string> = {},
      status = 200,
    ) => {
      documents.set(path, (_request, response) => {
        const text = typeof body === 'string' ? body : JSON.stringify(metadata(origin + path, body));
        response.writeHead(status, headers).end(text);
      });
      return origin + path;
    };
    documents.set('/slow.json', () => undefined);
    documents.set('/endless.json', (_request, response) => {
      const timer = setInterval(() => response.write('x'.repeat(4096)), 5);
      response.on('close', () => clearInterval(timer));
    });
    for (const [id, reason] of [
      [wrong('/not-json', 'hello'), /is no JSON/],
      [wrong('/list', '[]'), /is wrong/],
      [
        wrong('/other-id', { client_id: `${origin}/agent.json` }),
        /client_id must be the URL of the document/,
      ],
      [wrong('/secret', { client_secret: 'public' }), /client_secret must not be/],
      [wrong('/method', { token_endpoint_auth_method: 'client_secret_post' }), /must be none/],
      [wrong('/grant', { grant_types: ['client_credentials'] }), /grant_types/],
      [
        wrong('/script', { redirect_uris: ['javascript://name/cb', CALLBACK] }),
        /redirect_uris\.0 must use https, or a private-use scheme/,
      ],
      [
        wrong('/redirect', { redirect_uris: ['http://evil.example/callback'] }),
        /redirect_uris\.0 must use https/,
      ],
      [wrong('/none', { redirect_uris: [] }), /redirect_uris/],
      [wrong('/name', { client_name: 'Bank\u202eknaB' }), /client_name must not contain invisible/],
      [wrong('/long', { padding: 'x'.repeat(20_000) }), /longer than 10240 bytes/],
      [wrong('/moved', {}, { location: `${origin}/agent.json` }, 302), /could not be fetched\./],
      [`${origin}/missing`, /could not be fetched\./],
      [`${origin}/endless.json`, /longer than/],
      [`${origin}/slow.json`, /could not be fetched\./],
      [`${origin}/a/../agent.json`, /normal form/],
      [`${origin}/agent.json#part`, /normal form/],
      [`http://user:secret@127.0.0.1:1/agent.json`, /credentials/],
      [origin, /must have a path/],
      ['http://agent.example/agent.json', /must use https/],
      [`https://agent.example/${'x'.repeat(107)}`, /at most 128 characters/],
      ['https://10.0.0.1/agent.json', /could not be fetched\./],
      ['https://localhost/agent.json', /could not be fetched\./],
    ] as const) {
      const page = await visitor.get(authorizeAt(id));
      t.ok([400, 401, 503].includes(page.status), `${id} ${page.status}`);
      t.equal(page.url.origin, base, 'nothing is sent to a redirect URI');
      t.match(page.html, reason, id);
    }
    const before = requests.length;
    await visitor.get(authorizeAt(`${origin}/missing`));
    t.equal(requests.length, before);
    const { status, body } = await built.form({
      grant_type: 'refresh_token',
      refresh_token: 'x',
      client_id: `${origin}/list`,
    });
    t.match([status, body.error], [400, 'invalid_client']);
  },
);

t.test('while its site is away, what is known of a client is used, and its tokens work', async (t) => {
  const visitor = await signedIn(built, 'ann');
  const id = publish('/away.json', {}, { 'cache-control': 'max-age=60' });
  const { url } = await visitor.submit(await visitor.get(authorizeAt(id)), { decision: 'allow' });
  const config = await discover(id);
  const checks = { pkceCodeVerifier: VERIFIER, expectedState: 'state' };
  const { access_token, refresh_token = '' } = await client.authorizationCodeGrant(config, url, checks);
  const replica = await built.replica(ON);
  documents.delete('/away.json');
  t.equal((await refresh(built, refresh_token, { client_id: id })).status, 200, 'from the cache');
  t.equal((await built.call('GET', '/userinfo', access_token)).status, 200);
  const unknown = await fetch(authorizeAt(id, {}, replica), { redirect: 'manual' });
  t.equal(unknown.status, 503, 'a replica that has never seen it says that it can be tried again');
  const off = await built.replica({ ...ON, clientMetadata: 'off' });
  const page = await fetch(authorizeAt(id, {}, off), { redirect: 'manual' });
  t.match(
    [page.status, await page.text()],
    [400, /invalid_client|not known|no such/i],
    'where it is switched off',
  );
});

t.test('what strangers ask for is counted for no client, and what people allowed is', async (t) => {
  const stranger = publish('/counted.json');
  t.match((await built.browser().get(authorizeAt(stranger))).status, 200);
  const allowed = publish('/allowed.json');
  const visitor = await signedIn(built, 'ann');
  await visitor.get(authorizeAt(allowed));
  await until(() => counted.has(allowed), 20_000);
  t.equal(counted.has(stranger), false, [...counted].join());
});

t.test('one address cannot have many documents fetched', async (t) => {
  const limited = await build(t, { rateLimit: 'on', config: ON });
  const statuses = new Set<number>();
  for (let i = 0; i < 70; i += 1) {
    const { status } = await fetch(authorizeAt(`${origin}/missing/${i}`, {}, limited.base), {
      redirect: 'manual',
    });
    statuses.add(status);
  }
  t.ok(statuses.has(429), [...statuses].join());
  t.ok(requests.filter((path) => path.startsWith('/missing/')).length <= 60);
});
