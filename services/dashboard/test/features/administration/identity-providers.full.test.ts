import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createFormBrowser, type Page } from '@gatehouse/testing/form-browser';
import { listen } from '@gatehouse/testing/listen';
import t from 'tap';
import { build, textOf } from '../../build.ts';

const SECRET = 'SecretOfGatehouse';
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const KEYS = { keys: [publicKey.export({ format: 'jwk' })] };
const FORM = 'name="client_secret"';

/** A provider that knows one secret, as far as a test asks it. */
const server = createServer((request, response) => {
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const metadata = {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    jwks_uri: `${origin}/keys`,
    response_types_supported: ['code'],
    token_endpoint_auth_methods_supported: ['client_secret_basic'],
  };
  const send = (body: object, status = 200) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  if (request.url === '/token') {
    const [, given] = Buffer.from(request.headers.authorization?.slice(6) ?? '', 'base64')
      .toString()
      .split(':');
    return given === SECRET ? send({ error: 'invalid_grant' }, 400) : send({ error: 'invalid_client' }, 401);
  }
  return send(request.url === '/keys' ? KEYS : metadata);
});

const isOffered = async (base: string, label: string) =>
  (await createFormBrowser(base).get('/account')).html.includes(`Sign in with ${label}`);

t.test('a provider is tested before people can sign in with it', async (t) => {
  const issuer = `http://127.0.0.1:${await listen(t, server)}`;
  const built = await build(t, { localProviders: true });
  const { browser } = await built.signedIn('admin');
  const add = async (id: string, settings: Record<string, string>): Promise<Page> => {
    const form = await browser.get('/dashboard/identity-providers/new?type=openid');
    return browser.submit(form, { id, label: id, issuer, client_id: 'us', ...settings }, FORM);
  };

  const good = await add('good', { client_secret: SECRET });
  t.match(textOf(good), /added and tested\. People can sign in with it now\..* Status active/);
  t.ok(await isOffered(built.base, 'good'));

  const wrong = await add('wrong', { client_secret: 'wrong' });
  t.match(textOf(wrong), /it is off.* It does not accept the client ID or the secret\..* Status off/);
  t.notOk(await isOffered(built.base, 'wrong'));
  const saved = await browser.submit(wrong, { client_secret: SECRET }, FORM);
  t.match(textOf(saved), 'Status off', 'it stays off until the admin turns it on');
  t.match(textOf(await browser.submit(saved, {}, '/turn-on"')), 'Status active');

  const away = await add('away', { issuer: 'http://127.0.0.1:9', client_secret: SECRET });
  t.match(textOf(away), /Its metadata cannot be read: .* Status off/);
});
