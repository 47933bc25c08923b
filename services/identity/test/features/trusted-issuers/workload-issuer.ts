import { createServer, type ServerResponse } from 'node:http';
import { listen } from '@gatehouse/testing/listen';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

const now = () => Math.floor(Date.now() / 1000);

/** An issuer of tokens for workloads on a port of its own, with discovery and keys. */
export async function startIssuer(t: { teardown(fn: () => unknown): void }, algorithm = 'RS256') {
  const state = {
    requests: [] as string[],
    /** Answers in place of the issuer; returns whether it did. */
    intercept: undefined as ((path: string, response: ServerResponse, issuer: string) => boolean) | undefined,
  };
  let key = await newKey();
  async function newKey() {
    const pair = await generateKeyPair(algorithm, { extractable: true });
    const kid = crypto.randomUUID();
    const jwk = { ...(await exportJWK(pair.publicKey)), kid, alg: algorithm, use: 'sig' };
    return { ...pair, kid, jwk };
  }
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    state.requests.push(path);
    if (state.intercept?.(path, response, issuer) === true) return;
    const body = path.endsWith('/openid-configuration')
      ? { issuer, jwks_uri: `${issuer}/keys`, id_token_signing_alg_values_supported: [algorithm] }
      : { keys: [key.jwk] };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(body));
  });
  const issuer = `http://127.0.0.1:${await listen(t, server)}`;
  return {
    issuer,
    state,
    jwks: () => ({ keys: [key.jwk] }),
    publicKey: () => key.publicKey,
    async rotate() {
      key = await newKey();
    },
    /** A token that lives for five minutes, unless the claims say otherwise; `undefined` leaves a claim out. */
    sign(claims: object, header: object = {}, privateKey = key.privateKey): Promise<string> {
      const times = { iat: now(), nbf: now(), exp: now() + 300 };
      return new SignJWT({ iss: issuer, ...times, jti: crypto.randomUUID(), ...claims })
        .setProtectedHeader({ alg: algorithm, kid: key.kid, typ: 'JWT', ...header })
        .sign(privateKey);
    },
  };
}
export type WorkloadIssuer = Awaited<ReturnType<typeof startIssuer>>;
