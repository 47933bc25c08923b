import t, { type Test } from 'tap';
import {
  authorizeUrl,
  build,
  codeFor,
  NATIVE,
  ownApplication,
  PASSWORD,
  SPA,
  signInAndAllow,
  WEB,
} from '../../build.ts';
import { pkce, tokensFor } from '../../tokens.ts';

const LOOPBACK = { client_id: 'app_loopback', redirect_uri: 'http://127.0.0.1:8080/callback' };
const TWO = { client_id: 'app_two' };
const EVERYTHING = { client_id: 'app_everything', redirect_uri: 'https://all.example.org/callback' };
const first = { type: 'web', trusted: false, scopes: ['openid'] } as const;
const built = await build(t, {
  applications: [
    ownApplication(LOOPBACK.client_id, { ...first, redirectUris: [LOOPBACK.redirect_uri] }),
    ownApplication(EVERYTHING.client_id, {
      ...first,
      redirectUris: [EVERYTHING.redirect_uri],
      scopes: ['openid', 'read:all'],
    }),
    ownApplication(TWO.client_id, {
      ...first,
      redirectUris: ['https://two.example.org/a', 'https://two.example.org/b?fixed=1'],
    }),
  ],
});
const { base } = built;

/** What a browser gets that nobody is signed in with, without following anything. */
async function visit(path: string, init: RequestInit = {}) {
  const headers = { accept: 'text/html' };
  const response = await fetch(base + path, { redirect: 'manual', headers, ...init });
  const location = response.headers.get('location');
  return {
    status: response.status,
    headers: response.headers,
    location: location === null ? undefined : new URL(location, base),
    html: await response.text(),
  };
}

/** Refused with a page of ours, and the browser is sent nowhere. */
async function refusedWithPage(t: Test, name: string, path: string, init?: RequestInit): Promise<void> {
  const { status, headers, location, html } = await visit(path, init);
  t.ok(status >= 400 && status < 500, `${name}: ${status} ${location ?? ''}`);
  t.equal(location, undefined, name);
  t.match(headers.get('content-type'), /^text\/html/, name);
  t.match(headers.get('content-security-policy'), /default-src 'none'.*frame-ancestors 'none'/, name);
  t.notOk(headers.has('refresh'), name);
  t.notMatch(html, /<(?:a|form)[^>]*(?:evil|javascript:)/i, `${name}: no way there either`);
}

const BAD_REDIRECT_URIS: [string, string][] = [
  ['fragment', `${WEB.redirect_uri}#x`],
  ['empty fragment', `${WEB.redirect_uri}#`],
  ['userinfo', 'https://ann@web.example.org/callback'],
  ['userinfo with a password', 'https://ann:pw@web.example.org/callback'],
  ['empty userinfo', 'https://@web.example.org/callback'],
  ['the host as userinfo', 'https://web.example.org@evil.example/callback'],
  ['a backslash before the host', 'https://evil.example\\@web.example.org/callback'],
  ['a backslash after the host', 'https://web.example.org\\@evil.example/callback'],
  ['case of the scheme', 'HTTPS://web.example.org/callback'],
  ['case of the host', 'https://Web.example.org/callback'],
  ['case of the path', 'https://web.example.org/Callback'],
  ['trailing slash', `${WEB.redirect_uri}/`],
  ['trailing dot of the host', 'https://web.example.org./callback'],
  ['host suffix', 'https://web.example.org.evil.example/callback'],
  ['host prefix', 'https://evilweb.example.org/callback'],
  ['subdomain', 'https://evil.web.example.org/callback'],
  ['another host', 'https://evil.example/callback'],
  ['path traversal', 'https://web.example.org/callback/../evil'],
  ['path traversal that ends there', 'https://web.example.org/x/../callback'],
  ['a dot segment', 'https://web.example.org/./callback'],
  ['encoded traversal', 'https://web.example.org/callback/%2e%2e/evil'],
  ['encoded character', 'https://web.example.org/%63allback'],
  ['encoded slash', 'https://web.example.org%2fcallback'],
  ['double slash', 'https://web.example.org//callback'],
  ['longer path', `${WEB.redirect_uri}/more`],
  ['path suffix', `${WEB.redirect_uri}more`],
  ['shorter path', 'https://web.example.org/'],
  ['extra query', `${WEB.redirect_uri}?next=evil`],
  ['empty query', `${WEB.redirect_uri}?`],
  ['path parameter', `${WEB.redirect_uri};x=1`],
  ['another port', 'https://web.example.org:8443/callback'],
  ['the default port', 'https://web.example.org:443/callback'],
  ['http', 'http://web.example.org/callback'],
  ['no scheme', '//web.example.org/callback'],
  ['a path', '/callback'],
  ['a script', 'javascript:alert(1)'],
  ['data', 'data:text/html,x'],
  ['a file', 'file:///callback'],
  ['a space before', ` ${WEB.redirect_uri}`],
  ['a space after', `${WEB.redirect_uri} `],
  ['a tab within', 'https://web.example\t.org/callback'],
  ['a line break after', `${WEB.redirect_uri}\r\nX-Injected: 1`],
  ['an encoded line break', `${WEB.redirect_uri}%0d%0aX-Injected:1`],
  ['a NUL', `${WEB.redirect_uri}\0`],
  ['a look-alike', 'https://wеb.example.org/callback'],
  ['a wildcard', 'https://*.example.org/callback'],
  ['two of them', `${WEB.redirect_uri} https://evil.example/`],
  ['that of another application', SPA.redirect_uri],
  ['ours', `${base}/account/signed-in`],
  ['10 kB', `${WEB.redirect_uri}?${'x'.repeat(10_000)}`],
];

t.test('a redirect URI is the registered one, character by character (RFC 9700 §2.1)', async (t) => {
  for (const [name, redirect_uri] of BAD_REDIRECT_URIS) {
    await refusedWithPage(t, name, authorizeUrl({ redirect_uri }));
  }
});

t.test('nor is a bad one used to report what else is wrong', async (t) => {
  const faults: Record<string, string>[] = [
    { response_type: 'nothing' },
    { response_mode: 'nothing' },
    { scope: '"' },
    { prompt: 'none' },
    { prompt: 'dance' },
    { request: 'e30.e30.' },
    { request_uri: 'https://evil.example/request' },
    { request_uri: 'urn:ietf:params:oauth:request_uri:nothing' },
    { registration: '{}' },
    { claims: '{' },
    { max_age: 'x' },
    { id_token_hint: 'x' },
    { resource: 'x' },
    { code_challenge: 'x' },
    { response_mode: 'form_post' },
    { response_mode: 'fragment' },
    { display: 'x' },
  ];
  for (const fault of faults) {
    const more = { redirect_uri: 'https://evil.example/', ...fault };
    await refusedWithPage(t, JSON.stringify(fault), authorizeUrl(more));
  }
  const browser = built.browser();
  await codeFor(browser);
  const page = await browser.get(authorizeUrl({ redirect_uri: 'https://evil.example/' }));
  t.equal(page.status, 400, 'nor for who is signed in and has allowed it');
  t.equal(page.url.origin, base);
});

t.test('the error says that redirect URIs match to the slash', async (t) => {
  const { html } = await visit(authorizeUrl({ redirect_uri: `${WEB.redirect_uri}/` }));
  t.match(html, /invalid_redirect_uri.*character for character, a slash at the end included/);
});

t.test('an application that is none', async (t) => {
  for (const client_id of [
    'app_nobody',
    '',
    'app_web\r\nX-Injected: 1',
    '\0',
    '{"$gt":""}',
    'x'.repeat(5000),
  ]) {
    await refusedWithPage(t, client_id.slice(0, 20), authorizeUrl({ client_id }));
  }
  await refusedWithPage(t, 'a machine', authorizeUrl({ client_id: 'app_machine' }));
  await refusedWithPage(t, 'a service of ours', authorizeUrl({ client_id: 'users' }));
});

t.test('loopback: any port for native applications, and nothing but the port', async (t) => {
  const { challenge } = pkce();
  const ask = (redirect_uri: string) => authorizeUrl({ ...NATIVE, ...challenge, redirect_uri });
  for (const redirect_uri of [
    'http://127.0.0.1:1/callback',
    'http://127.0.0.1:65535/callback',
    'http://127.0.0.1/callback',
  ]) {
    const { url } = await signInAndAllow(built.browser(), ask(redirect_uri));
    t.equal(url.origin + url.pathname, redirect_uri);
    t.ok(url.searchParams.has('code'), redirect_uri);
  }
  for (const redirect_uri of [
    'http://127.0.0.1:1/other',
    'http://127.0.0.1:1/callback/',
    'http://127.0.0.1:1/callback?x=1',
    'http://127.0.0.1:1/callback#x',
    'http://127.0.0.1:1/x/../callback',
    'http://ann@127.0.0.1:1/callback',
    'http://127.0.0.1:1@evil.example/callback',
    'http://127.0.0.1:99999/callback',
    'http://127.0.0.1.evil.example:1/callback',
    'http://127.0.0.2:1/callback',
    'http://localhost:1/callback',
    'http://[::1]:1/callback',
    'http://127.1:1/callback',
    'http://2130706433:1/callback',
    'https://127.0.0.1:1/callback',
    'HTTP://127.0.0.1:1/callback',
  ]) {
    await refusedWithPage(t, redirect_uri, ask(redirect_uri));
  }
  await refusedWithPage(
    t,
    'another port of a web application',
    authorizeUrl({ ...LOOPBACK, scope: 'openid', redirect_uri: 'http://127.0.0.1:8081/callback' }),
  );
  t.equal((await visit(authorizeUrl({ ...LOOPBACK, scope: 'openid' }))).status, 303, 'its own');
});

t.test('one of several redirect URIs must be named', async (t) => {
  const url = (more: Record<string, string>) => {
    const address = new URL(authorizeUrl({ ...TWO, scope: 'openid', ...more }), base);
    if (more.redirect_uri === undefined) address.searchParams.delete('redirect_uri');
    return address.pathname + address.search;
  };
  await refusedWithPage(t, 'none', url({}));
  await refusedWithPage(t, 'without its query', url({ redirect_uri: 'https://two.example.org/b' }));
  const page = await signInAndAllow(
    built.browser(),
    url({ redirect_uri: 'https://two.example.org/b?fixed=1' }),
  );
  t.equal(page.url.searchParams.get('fixed'), '1', 'its query is kept');
  t.ok(page.url.searchParams.has('code'));
});

t.test(
  'a request without a scope that there is: invalid_scope before any page (RFC 6749 §3.3)',
  async (t) => {
    const { challenge } = pkce();
    for (const [name, scope] of [
      ['unknown ones', 'read:moon write:moon'],
      ['one that is internal', 'internal manage:apps'],
    ] as const) {
      for (const client of [{}, { ...SPA, ...challenge }]) {
        const address = new URL(authorizeUrl({ ...client, scope }), base);
        const { status, location } = await visit(address.pathname + address.search);
        t.equal(status, 303, name);
        t.match(Object.fromEntries(location?.searchParams ?? []), {
          error: 'invalid_scope',
          error_description: /scope must name one or more of: openid /,
          state: 'some-state',
        });
      }
      const pushed = await built.form({ response_type: 'code', ...WEB, scope }, {}, '/oauth2/par');
      t.match(pushed, { status: 400, body: { error: 'invalid_scope' } }, `${name}, pushed`);
    }
    const { url } = await signInAndAllow(built.browser(), authorizeUrl({ scope: 'openid read:moon' }));
    t.ok(
      url.searchParams.has('code'),
      'unknown ones beside a known one are ignored (OpenID Connect Core §3.1.2.1)',
    );
  },
);

t.test(
  'a request without scope, or with offline_access alone, asks who the person is (RFC 6749 §3.3)',
  async (t) => {
    const loopback = { client_id: LOOPBACK.client_id, redirect_uri: LOOPBACK.redirect_uri };
    const web = { client_id: WEB.client_id, redirect_uri: WEB.redirect_uri };
    for (const client of [web, loopback]) {
      const bare = new URL(authorizeUrl(client), base);
      bare.searchParams.delete('scope');
      const others = ['', 'offline_access'].map((scope) => authorizeUrl({ ...client, scope }));
      for (const url of [bare.pathname + bare.search, ...others]) {
        const browser = built.browser();
        const consent = await browser.submit(await browser.get(url), { username: 'ann', password: PASSWORD });
        t.match(consent.url.pathname, /^\/consent\//, 'the person is asked');
        const allowed = await browser.submit(consent, { decision: 'allow' });
        t.ok(allowed.url.searchParams.has('code'));
        if (client === web) {
          const { client_id, client_secret, redirect_uri } = WEB;
          const code = String(allowed.url.searchParams.get('code'));
          const grant = { grant_type: 'authorization_code', code, redirect_uri, client_id, client_secret };
          const { body } = await built.form(grant);
          t.equal(body.scope, 'openid');
        }
        t.notMatch(consent.html, 'read:data');
      }
    }
    const pushed = await built.form({ response_type: 'code', ...WEB }, {}, '/oauth2/par');
    t.equal(pushed.status, 201);
  },
);

t.test('scopes that the role of the person does not allow: refused with a reason', async (t) => {
  const all = { client_id: EVERYTHING.client_id, redirect_uri: EVERYTHING.redirect_uri, scope: 'read:all' };
  const { url } = await signInAndAllow(built.browser(), authorizeUrl(all));
  t.match(Object.fromEntries(url.searchParams), { error: 'access_denied', error_description: /role/ });
});

t.test('repeated parameters', async (t) => {
  const good = new URL(authorizeUrl(), base).searchParams;
  for (const [name, value] of good) {
    for (const second of [value, 'https://evil.example/']) {
      for (const query of [
        `${good}&${new URLSearchParams({ [name]: second })}`,
        `${new URLSearchParams({ [name]: second })}&${good}`,
      ]) {
        const { status, location } = await visit(`/oauth2/authorize?${query}`);
        if (location === undefined) t.equal(status, 400, name);
        else {
          t.equal(location.origin + location.pathname, WEB.redirect_uri, name);
          t.equal(location.searchParams.get('error'), 'invalid_request', name);
        }
      }
    }
  }
});

t.test('oversized requests', async (t) => {
  await refusedWithPage(t, 'a form', '/oauth2/authorize', {
    method: 'POST',
    body: new URLSearchParams({ state: 'x'.repeat(7000) }),
  });
  const { status } = await visit(authorizeUrl({ state: 'x'.repeat(20_000) }));
  t.equal(status, 431, 'more than headers may hold');
  const { url } = await signInAndAllow(built.browser(), authorizeUrl({ state: 'x'.repeat(4000) }));
  t.equal(url.searchParams.get('state')?.length, 4000, 'what fits comes back whole');
});

t.test('no parameter gets into a header or the markup', async (t) => {
  const nasty = '\r\nX-Injected: 1\r\nSet-Cookie: injected=1\r\n\r\n<script>alert(1)</script>"\'><img src=x>';
  const names = ['state', 'nonce', 'login_hint', 'ui_locales', 'acr_values', 'display', 'claims', 'scope'];
  for (const name of [...names, 'prompt', 'response_mode', 'response_type', 'redirect_uri', 'client_id']) {
    const browser = built.browser();
    const page = await browser.get(authorizeUrl({ [name]: nasty }));
    const first = await visit(authorizeUrl({ [name]: nasty }));
    for (const headers of [page.headers, first.headers]) {
      t.notOk(headers.has('x-injected'), name);
      t.notMatch(headers.getSetCookie().join(), /injected/, name);
    }
    t.notMatch(page.html, /<script>|<img src=x/, name);
    t.ok(page.url.origin === base || page.url.href.startsWith(WEB.redirect_uri), `${name}: ${page.url}`);
    t.not(page.status, 500, name);
  }
  for (const path of ['/sign-in/%0d%0aX-Injected:1', '/consent/%0d%0aX-Injected:1', '/account/%0d%0a']) {
    const { status, headers } = await visit(path);
    t.ok(status >= 400 && status < 500, `${path}: ${status}`);
    t.notOk(headers.has('x-injected'), path);
  }
  for (const path of [
    '//evil.example/account',
    '/account/signed-in?state=//evil.example',
    '/oauth2//evil.example',
  ]) {
    const { location } = await visit(path);
    t.ok(location === undefined || location.origin === base, `${path}: ${location}`);
  }
});

t.test('signing out leads to registered addresses only (RP-Initiated Logout §3)', async (t) => {
  const admin = await built.login('admin');
  const uri = 'https://web.example.org/bye';
  const made = await built.call('PATCH', `/api/v1/applications/${WEB.client_id}`, admin, {
    post_logout_redirect_uris: [uri],
  });
  t.equal(made.status, 200);
  const browser = built.browser();
  const { id_token: id_token_hint } = await tokensFor(built, { browser });
  const out = (parameters: Record<string, string>) => `/oauth2/logout?${new URLSearchParams(parameters)}`;
  const { client_id } = WEB;
  for (const [name, parameters] of [
    ['another', { client_id, post_logout_redirect_uri: 'https://evil.example/' }],
    ['another, with a hint', { id_token_hint, post_logout_redirect_uri: 'https://evil.example/' }],
    ['a longer one', { client_id, post_logout_redirect_uri: `${uri}/more` }],
    ['a fragment', { client_id, post_logout_redirect_uri: `${uri}#x` }],
    ['a line break', { client_id, post_logout_redirect_uri: `${uri}\r\nX-Injected: 1` }],
    ['a script', { client_id, post_logout_redirect_uri: 'javascript:alert(1)' }],
    ['of nobody', { post_logout_redirect_uri: uri }],
    ['of an unknown application', { client_id: 'app_nobody', post_logout_redirect_uri: uri }],
    ['of another application', { client_id: SPA.client_id, post_logout_redirect_uri: uri }],
    ['a hint of another application', { client_id: SPA.client_id, id_token_hint }],
    ['a hint that is none', { id_token_hint: 'x', post_logout_redirect_uri: uri }],
  ] as [string, Record<string, string>][]) {
    if (parameters.post_logout_redirect_uri === uri && name === 'of nobody') {
      // Nobody is asked to go there: without an application the address counts as not given.
      const page = await browser.get(out(parameters));
      t.equal(page.url.origin, base, name);
      continue;
    }
    await refusedWithPage(t, name, out(parameters));
  }
  const state = 'a\r\nX-Injected: 1';
  const confirm = await browser.get(out({ id_token_hint, post_logout_redirect_uri: uri, state }));
  t.equal(confirm.status, 200);
  const gone = await browser.submit(confirm, { logout: 'yes' });
  t.equal(gone.url.origin + gone.url.pathname, uri);
  t.equal(gone.url.searchParams.get('state'), state);
  const posted = await visit('/oauth2/logout', {
    method: 'POST',
    body: new URLSearchParams({ client_id, post_logout_redirect_uri: 'https://evil.example/' }),
  });
  t.equal(posted.location?.origin, base);
});

t.test('strangers leave little behind', async (t) => {
  const long = await built.browser().get(authorizeUrl({ state: 'x'.repeat(7000) }));
  t.equal(long.status, 400);
  t.equal(long.headers.get('location'), null);
  await built.browser().get('/oauth2/logout');
  const database = await built.database();
  const latest = await database.collection('oidc_sessions').find({ account_id: null }).toArray();
  t.ok(latest.length > 0);
  for (const { expires_at } of latest) t.ok(expires_at.getTime() < Date.now() + 3_700_000, 'an hour at most');
});
