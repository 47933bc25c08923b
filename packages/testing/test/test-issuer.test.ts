import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '@gatehouse/core/logger';
import { until } from '@gatehouse/testing/processes';
import { createTestIssuer, type TestIssuer } from '@gatehouse/testing/test-issuer';
import { createApiKeyResolver } from '@gatehouse/tokens/api-keys';
import { createCredentialVerifier } from '@gatehouse/tokens/credentials';
import { createIdentityClient } from '@gatehouse/tokens/identity-client';
import { clientCredentialsGrant, createInternalClient } from '@gatehouse/tokens/internal-client';
import { createRevocationFeed } from '@gatehouse/tokens/revocation-feed';
import { apiAudience, internalAudience } from '@gatehouse/tokens/scopes';
import { createTokenVerifier } from '@gatehouse/tokens/verifier';
import t, { type Test } from 'tap';

const DEAD = { name: 'ServiceError', kind: 'unauthenticated' };

/** What a resource service has: all of it by way of the issuer. */
async function serviceOf(t: Test, issuer: TestIssuer) {
  const { issuer: url, client, broadcast } = issuer;
  const internal = createInternalClient({
    service: 'identity',
    url,
    requestToken: clientCredentialsGrant({
      tokenUrl: `${url}/oauth2/token`,
      issuer: url,
      clientId: client.id,
      clientSecret: client.secret,
    }),
  });
  const identity = createIdentityClient(internal);
  const logger = createLogger({ name: 'test', level: 'fatal', readable: false });
  const feed = createRevocationFeed({ broadcast, fetch: identity.revocations, logger });
  t.teardown(() => feed.stop());
  await feed.start();
  const verifierFor = (audience: string) =>
    createTokenVerifier({ issuer: url, audience, jwksUri: `${url}/jwks`, revocations: feed.set });
  const credentials = createCredentialVerifier({
    tokens: verifierFor(apiAudience(url)),
    apiKeys: createApiKeyResolver({ resolve: identity.resolveApiKey, set: feed.set }),
    feed,
    publicUrl: url,
  });
  const verify = (authorization: string) =>
    credentials.verify({ authorization, dpop: undefined, method: 'GET', path: '/' });
  return { verify, internal, internalTokens: verifierFor(internalAudience(url, 'users')) };
}

t.test('a service alone with the issuer', async (t) => {
  const issuer = await createTestIssuer(t);
  issuer.revoke({ kind: 'grant', id: 'gra_old' });
  const { verify } = await serviceOf(t, issuer);
  await t.rejects(
    verify(`Bearer ${await issuer.sign({ trusted: true, gid: 'gra_old' })}`),
    DEAD,
    'the snapshot',
  );

  const tokens = {
    byJti: await issuer.sign({ trusted: true, jti: 'jti_1' }),
    byClient: await issuer.sign({ sub: 'usr_1', epoch: { client: 1, subject: 1 } }),
    byPerson: await issuer.person('usr_1', 'user', ''),
    alive: await issuer.machine('read:all'),
  };
  const entries = {
    byJti: { kind: 'token', id: 'jti_1' },
    byClient: { kind: 'client', id: 'app_test', epoch: 1 },
    byPerson: { kind: 'subject', id: 'usr_1', epoch: 1 },
  } as const;
  for (const token of Object.values(tokens)) await verify(`Bearer ${token}`);
  issuer.revoke(entries.byJti);
  issuer.revoke(entries.byPerson);
  await sleep(5);
  await t.rejects(verify(`Bearer ${tokens.byJti}`), DEAD);
  await t.rejects(verify(`Bearer ${tokens.byPerson}`), DEAD);
  t.match(await verify(`Bearer ${tokens.byClient}`), { epoch: { client: 1, subject: 1 } });
  issuer.revoke(entries.byClient);
  await sleep(5);
  t.match(await verify(`Bearer ${tokens.byClient}`), { subject: 'usr_1' }, 'of the new epoch');
  await t.rejects(verify(`Bearer ${tokens.alive}`), DEAD, 'of a lower one');
});

t.test('API keys', async (t) => {
  const issuer = await createTestIssuer(t);
  const { verify } = await serviceOf(t, issuer);
  const { id, key } = issuer.apiKey({ scopes: ['read:data'] });
  t.match(await verify(`ApiKey ${key}`), { keyId: id, scopes: new Set(['read:data']), person: undefined });
  await verify(`Bearer ${key}`);
  t.equal(issuer.asked.get('/internal/identity/api-keys/resolve'), 1);
  issuer.revoke({ kind: 'api_key', id });
  await sleep(5);
  await t.rejects(verify(`ApiKey ${key}`), DEAD);
});

t.test('revocations while the broadcast is interrupted', async (t) => {
  const issuer = await createTestIssuer(t);
  const { verify } = await serviceOf(t, issuer);
  const token = await issuer.person('usr_1', 'user', '');
  await verify(`Bearer ${token}`);
  issuer.broadcast.cut();
  issuer.revoke({ kind: 'subject', id: 'usr_1', epoch: 1 });
  await sleep(20);
  t.match(await verify(`Bearer ${token}`), { subject: 'usr_1' });
  issuer.broadcast.mend();
  await until(
    () =>
      verify(`Bearer ${token}`).then(
        () => false,
        () => true,
      ),
    2000,
  );
});

t.test('internal tokens', async (t) => {
  const issuer = await createTestIssuer(t);
  const { verify, internalTokens, internal } = await serviceOf(t, issuer);
  const token = await issuer.internal('identity', 'users');
  t.match(await internalTokens.verify(token), { clientId: 'identity', scopes: new Set(['internal']) });
  await t.rejects(verify(`Bearer ${token}`), DEAD, 'not for the API');
  await t.rejects(internalTokens.verify(await issuer.machine('internal')), DEAD, 'and the other way round');
  const forItems = await issuer.internal('identity', 'items');
  await t.rejects(internalTokens.verify(forItems), DEAD, 'for another service');
  const url = `${issuer.issuer}/internal/identity/revocations`;
  t.equal((await internal.request('GET', '/revocations')).status, 200);
  t.equal((await fetch(url)).status, 401);
});
