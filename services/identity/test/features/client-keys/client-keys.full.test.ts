import { createServer, type ServerResponse } from 'node:http';
import { listen } from '@gatehouse/testing/listen';
import { until } from '@gatehouse/testing/processes';
import { type CryptoKey, decodeJwt, exportJWK, generateKeyPair } from 'jose';
import * as client from 'openid-client';
import t from 'tap';
import { build } from '../../build.ts';
import { signedIn } from '../../pages.ts';

const INVALID_CLIENT = Object.assign(new Error(), { error: 'invalid_client', status: 401 });
const CALLBACK = 'http://127.0.0.1:49152/callback';

async function makeKey(kid: string) {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  return { publicJwk: { ...(await exportJWK(publicKey)), kid }, signing: { key: privateKey, kid } };
}

/** The site of a client, with its public keys and its metadata document. */
const respond = new Map<string, (response: ServerResponse) => unknown>();
const requests: string[] = [];
const site = createServer((request, response) => {
  requests.push(request.url ?? '');
  const found = respond.get(request.url ?? '');
  if (found === undefined) response.writeHead(404).end();
  else found(response);
});
const origin = `http://127.0.0.1:${await listen(t, site)}`;
const serve = (path: string, body: object) =>
  respond.set(path, (response) =>
    response.writeHead(200, { 'cache-control': 'max-age=86400' }).end(JSON.stringify(body)),
  );

const networks = ['127.0.0.0/8'];
const built = await build(t, {
  config: {
    trustedIssuerNetworks: networks,
    ...{
      clientMetadata: 'on',
      clientMetadataScopes: ['openid', 'profile'],
      clientMetadataNetworks: networks,
    },
  },
});
const [first, second] = [await makeKey('first'), await makeKey('second')];

const discover = (id: string, key: { key: CryptoKey; kid: string }) =>
  client.discovery(new URL(built.base), id, undefined, client.PrivateKeyJwt(key), {
    execute: [client.allowInsecureRequests],
  });

async function makeMachine(path: string): Promise<string> {
  const { status, body } = await built.call('POST', '/api/v1/applications', await built.login('admin'), {
    ...{ name: 'Job', type: 'machine', scopes: ['read:data'], jwks_uri: origin + path },
  });
  t.match([status, body.jwks, body.jwks_uri, body.client_secret], [201, null, origin + path, undefined]);
  return String(body.client_id);
}

/** Lets the minute pass for which keys are kept. */
function afterAMinute(): void {
  const { now } = Date;
  Date.now = () => now.call(Date) + 61_000;
  t.teardown(() => {
    Date.now = now;
  });
}

t.test(
  'the keys of an application at a URL are fetched, and a withdrawn one ends within a minute',
  async (t) => {
    serve('/keys', { keys: [first.publicJwk] });
    const id = await makeMachine('/keys');
    const signs = async (key: typeof first.signing) =>
      client.clientCredentialsGrant(await discover(id, key)).then(
        (tokens) => tokens.scope,
        (error: client.ResponseBodyError) => error.error,
      );
    t.equal(await signs(first.signing), 'read:data');
    t.equal(await signs(second.signing), 'invalid_client');
    t.equal(requests.filter((path) => path === '/keys').length, 1, 'the keys are kept for a minute');
    serve('/keys', { keys: [second.publicJwk] });
    afterAMinute();
    t.equal(await signs(first.signing), 'invalid_client', 'although its server lets them be kept for a day');
    t.equal(await signs(second.signing), 'read:data');
  },
);

t.test(
  'what was made with a key at a URL ends when the key is withdrawn, and nothing else does',
  async (t) => {
    serve('/rotated', { keys: [first.publicJwk, second.publicJwk] });
    const id = await makeMachine('/rotated');
    const credentialOf = async (key: typeof first.signing) =>
      decodeJwt((await client.clientCredentialsGrant(await discover(id, key))).access_token).credential_id;
    const [withdrawn, kept] = [await credentialOf(first.signing), await credentialOf(second.signing)];
    const service = await built.serviceToken('notifications');
    /** The credentials on which webhooks of the application can rest. */
    const inForce = async (): Promise<unknown[]> => {
      const path = '/internal/identity/owned-applications';
      const { owners } = (await built.call('POST', path, service, { ids: [id] })).body as {
        owners: { credentials: { ids: string[] }[] }[];
      };
      return owners[0]?.credentials.flatMap(({ ids }) => ids) ?? [];
    };
    const have = async () => (await inForce()).filter((it) => it === withdrawn || it === kept);
    t.same((await have()).toSorted(), [withdrawn, kept].toSorted());
    const path = `/api/v1/applications/${id}`;
    await built.call('PATCH', path, await built.login('admin'), { jwks_uri: `${origin}/rotated` });
    t.equal((await have()).length, 2, 'the same URL again ends nothing');
    respond.set('/rotated', (response) => response.writeHead(500).end());
    afterAMinute();
    await have();
    await until(async () => requests.filter((it) => it === '/rotated').length === 2, 5000);
    t.equal((await have()).length, 2, 'keys that cannot be fetched are not withdrawn');
    serve('/rotated', { keys: [second.publicJwk] });
    afterAMinute();
    // Failures are kept for half a minute of the real time, but not by another replica.
    const replica = await built.replica();
    const ask = () =>
      fetch(`${replica}/internal/identity/owned-applications`, {
        method: 'POST',
        headers: { authorization: `Bearer ${service}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ids: [id] }),
      });
    t.equal((await ask()).status, 200);
    await until(async () => !(await inForce()).includes(withdrawn), 5000);
    t.same(await have(), [kept]);
  },
);

t.test('keys that cannot be fetched authenticate nobody', async (t) => {
  respond.set('/moved', (response) => response.writeHead(302, { location: `${origin}/keys` }).end());
  respond.set('/huge', (response) => response.end(' '.repeat(5_000_000)));
  respond.set('/slow', () => undefined);
  serve('/private', { keys: [{ ...first.publicJwk, d: 'x' }] });
  for (const path of ['/moved', '/huge', '/slow', '/missing', '/private']) {
    const config = await discover(await makeMachine(path), first.signing);
    const begun = performance.now();
    await t.rejects(client.clientCredentialsGrant(config), INVALID_CLIENT, path);
    t.ok(performance.now() - begun < 15_000);
    await t.rejects(client.clientCredentialsGrant(config), INVALID_CLIENT, path);
    t.equal(requests.filter((it) => it === path).length, 1, `${path} is not asked for again at once`);
  }
  const id = await makeMachine('/keys');
  const outside = await built.replica({ trustedIssuerNetworks: [] });
  const { length } = requests;
  const assertion = {
    client_id: id,
    client_assertion_type: 'x',
    client_assertion: 'eyJhbGciOiJFUzI1NiJ9.e30.x',
  };
  const form = new URLSearchParams({ ...assertion, grant_type: 'client_credentials' });
  await fetch(`${outside}/oauth2/token`, { method: 'POST', body: form });
  t.equal(requests.length, length, 'nor where the operator has not allowed the network');
});

t.test('a client that describes itself authenticates with the keys of its document', async (t) => {
  const describe = (path: string, more: object) =>
    serve(path, {
      ...{ client_id: origin + path, client_name: 'Agent', redirect_uris: [CALLBACK] },
      ...{ token_endpoint_auth_method: 'private_key_jwt', ...more },
    });
  serve('/agent-keys', { keys: [second.publicJwk] });
  describe('/with-uri', { jwks_uri: `${origin}/agent-keys` });
  describe('/with-keys', { jwks: { keys: [second.publicJwk] } });
  const visitor = await signedIn(built, 'ann');
  const verifier = client.randomPKCECodeVerifier();
  const code_challenge = await client.calculatePKCECodeChallenge(verifier);
  const checks = { pkceCodeVerifier: verifier };
  for (const path of ['/with-uri', '/with-keys']) {
    const config = await discover(origin + path, second.signing);
    const request = {
      redirect_uri: CALLBACK,
      scope: 'openid',
      code_challenge,
      code_challenge_method: 'S256',
    };
    const authorize = async () => {
      const page = await visitor.get(client.buildAuthorizationUrl(config, request).href);
      return page.url.searchParams.has('code') ? page : visitor.submit(page, { decision: 'allow' });
    };
    const tokens = await client.authorizationCodeGrant(config, (await authorize()).url, checks);
    t.ok(await client.refreshTokenGrant(config, tokens.refresh_token ?? ''), path);
    const { url } = await authorize();
    const other = await discover(origin + path, first.signing);
    await t.rejects(client.authorizationCodeGrant(other, url, checks), INVALID_CLIENT);
    const grant = { grant_type: 'authorization_code', code: url.searchParams.get('code') ?? '' };
    const without = { ...grant, client_id: origin + path, redirect_uri: CALLBACK, code_verifier: verifier };
    t.match((await built.form(without)).body, { error: 'invalid_client' }, 'not without its key');
    await t.rejects(
      client.clientCredentialsGrant(config, { scope: 'ssf.manage' }),
      Object.assign(new Error(), { error: 'unauthorized_client' }),
      'nobody answers for what it does for itself',
    );
  }
  const both = { jwks: { keys: [second.publicJwk] }, jwks_uri: `${origin}/agent-keys` };
  for (const [name, more] of Object.entries({
    none: {},
    both,
    private: { jwks: { keys: [{ ...second.publicJwk, d: 'x' }] } },
    http: { jwks_uri: 'http://keys.example/' },
  })) {
    describe(`/wrong-${name}`, more);
    const page = await visitor.get(
      `${built.base}/oauth2/authorize?client_id=${encodeURIComponent(`${origin}/wrong-${name}`)}&response_type=code&redirect_uri=${encodeURIComponent(CALLBACK)}`,
    );
    t.match(page.html, /jwks/, name);
  }
});
