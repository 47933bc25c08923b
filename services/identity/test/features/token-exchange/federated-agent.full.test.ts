import t from 'tap';
import { untilDead } from '../../tokens.ts';
import { startIssuer } from '../trusted-issuers/workload-issuer.ts';
import { ACCESS_TOKEN, EXCHANGE, setUpExchange } from './exchange-set-up.ts';

const set = await setUpExchange(t, { config: { trustedIssuerNetworks: ['127.0.0.0/8'] } });
const { built, logins, tokens, agent } = set;
const issuer = await startIssuer(t);
const trusted = await built.call('POST', '/api/v1/trusted-issuers', logins.admin, {
  ...{ issuer: issuer.issuer, kinds: ['workload'], scopes: ['read:users'] },
});
const path = `/api/v1/trusted-issuers/${trusted.body.id}`;

t.test('what an agent gets by a token of an issuer is within its scopes, and ends with it', async (t) => {
  const { client_id } = await agent();
  const rule = { name: 'CI', issuer: issuer.issuer, subject: 'ci' };
  const rules = `/api/v1/applications/${client_id}/federated-credentials`;
  t.equal((await built.call('POST', rules, logins.ann, rule)).status, 201);
  const { access_token: subject_token } = await tokens();
  const exchange = async (resource: string) =>
    built.form({
      ...{ grant_type: EXCHANGE, client_id, subject_token, subject_token_type: ACCESS_TOKEN, resource },
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await issuer.sign({ sub: 'ci', aud: built.base }),
    });
  const { status, body } = await exchange(set.api);
  t.match([status, body.scope], [200, 'read:users']);
  t.match((await exchange(set.files)).body, { error: 'invalid_scope' });
  await built.call('PATCH', path, logins.admin, { enabled: false });
  t.ok((await untilDead(built, String(body.access_token))) < 1000);
  t.match((await exchange(set.api)).body, { error: 'invalid_client' });
});
