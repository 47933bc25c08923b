import { decodeProtectedHeader } from 'jose';
import t from 'tap';
import { ACCESS_TOKEN, EXCHANGE, setUpExchange } from '../../features/token-exchange/exchange-set-up.ts';
import { fapiClient } from './fapi2.ts';

const set = await setUpExchange(t, { config: { accessTokenAlgorithm: 'RS256' } });
const { built, logins, web, api, tokens } = set;
const { call, form } = built;

t.test('an application under FAPI 2.0 gets what its profile allows', async (t) => {
  const by = logins.admin;
  const fapi = await fapiClient(built, { type: 'machine' });
  const identifier = await set.register('fapi', by);
  const token_exchange = [
    { resource: identifier, scopes: [] },
    { resource: api, scopes: ['read:users'] },
  ];
  const changed = await call('PATCH', `/api/v1/applications/${fapi.id}`, by, { token_exchange });
  t.equal(changed.status, 200);
  const { redirect_uri } = web;
  const draft = { name: 'Web', type: 'web', scopes: ['openid'], redirect_uris: [redirect_uri] };
  const client = { ...(await built.createApplication(by, draft)), redirect_uri };
  const { access_token: subject_token } = await tokens({
    ...{ client, scope: 'openid fapi:read', resource: identifier },
  });
  const asked = { grant_type: EXCHANGE, subject_token, subject_token_type: ACCESS_TOKEN, resource: api };
  const request = async (headers?: Record<string, string>) => form(await fapi.authenticated(asked), headers);
  t.equal((await request()).status, 400, 'no bearer token');
  const { status, body } = await request(await fapi.proof('/oauth2/token'));
  t.match([status, body.token_type], [200, 'DPoP']);
  t.equal(decodeProtectedHeader(String(body.access_token)).alg, 'ES256');
  t.equal(decodeProtectedHeader(subject_token).alg, 'RS256', 'of others');
});
