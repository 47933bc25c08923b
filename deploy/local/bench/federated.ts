// `npm run bench:federated [-- ROUNDS [ALG]]`: what client_credentials cost with the token of a trusted issuer, which counts once or
// more than once, beside a client secret. CPU for each request is the figure that a busy machine does not bend.
import { createLoadComparison, type Load } from '@gatehouse/testing/compare-loads';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { ADMIN, startCluster } from '../test/cluster.ts';

const rounds = Number(process.argv[2] ?? 15);
const alg = process.argv[3] ?? 'RS256';
const CONCURRENCY = 16;
/** Of one round at most. */
const TOKENS = 2500;
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

const cleanups: (() => unknown)[] = [];
const comparison = createLoadComparison({ rounds, concurrency: CONCURRENCY });
cleanups.push(() => comparison.close());

try {
  const scope = { teardown: (action: () => unknown) => void cleanups.push(action) };
  const cluster = await startCluster(scope, {}, [], {});
  const { base } = cluster.identity;
  const server = { pid: cluster.identity.process.child.pid ?? 0, port: Number(new URL(base).port) };
  let token: string | undefined;
  async function post(path: string, body: unknown) {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const headers = { 'content-type': 'application/json', ...authorization };
    const response = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Record<string, string>;
  }
  const { username, password } = ADMIN;
  token = (await post('/api/v1/auth/login', { username, password })).token;
  const metadata = (await (await fetch(`${base}/.well-known/openid-configuration`)).json()) as {
    issuer: string;
  };
  const { privateKey, publicKey } = await generateKeyPair(alg);
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg }] };
  const sign = (issuer: string) =>
    new SignJWT({ jti: crypto.randomUUID(), repository: 'acme/shop', ref: 'refs/heads/main' })
      .setProtectedHeader({ alg, typ: 'JWT' })
      .setIssuer(issuer)
      .setSubject('repo:acme/shop:ref:refs/heads/main')
      .setAudience(metadata.issuer)
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(privateKey);
  const call = (fields: Record<string, string>) => {
    const body = new URLSearchParams({ grant_type: 'client_credentials', ...fields }).toString();
    return { method: 'POST' as const, path: '/oauth2/token', headers: FORM, body, status: 200 };
  };
  const loads: Record<string, Load> = {};
  for (const reuses_tokens of [true, false]) {
    const issuer = `https://${reuses_tokens ? 'cluster' : 'ci'}.example`;
    await post('/api/v1/trusted-issuers', { issuer, kinds: ['workload'], jwks, reuses_tokens });
    const app = await post('/api/v1/applications', { name: 'CI', type: 'machine', scopes: ['read:data'] });
    const { client_id = '', client_secret = '' } = app;
    await post(`/api/v1/applications/${client_id}/federated-credentials`, {
      ...{ name: 'main', issuer, subject: 'repo:acme/shop:*', claims: { repository: 'acme/shop' } },
    });
    const asked = (client_assertion: string) =>
      call({ client_id, client_assertion_type: TYPE, client_assertion });
    loads['client secret'] ??= { server, next: () => call({ client_id, client_secret }) };
    if (reuses_tokens) {
      const reused = await sign(issuer);
      loads['federated, reused'] = { server, next: () => asked(reused) };
      continue;
    }
    let tokens: string[] = [];
    loads['federated, once'] = {
      server,
      prepare: async () => {
        tokens = await Promise.all(Array.from({ length: TOKENS }, () => sign(issuer)));
      },
      next() {
        const next = tokens.pop();
        return next === undefined ? undefined : asked(next);
      },
    };
  }
  comparison.printTitle(`${rounds} rounds, ${alg}`);
  await comparison.compare(loads);
} finally {
  for (const clean of cleanups.reverse()) await clean();
}
