import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { newId } from '@gatehouse/kit/ids';
import { apiAudience, type Role } from '@gatehouse/tokens/scopes';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

export type TestIssuer = {
  issuer: string;
  /** A token with these claims over those of a valid access token; undefined takes a claim away. */
  sign(claims?: JWTPayload, header?: { typ?: string }): Promise<string>;
  /** A token of a trusted machine. */
  machine(scope: string): Promise<string>;
  /** A token of a person, by way of some application. */
  person(id: string, role: Role, scope: string): Promise<string>;
};

/**
 * An issuer of its own for tests of services that verify tokens: a real key, served by a real JWKS endpoint on
 * loopback until the test ends.
 */
export async function createTestIssuer(t: { teardown(fn: () => void): void }): Promise<TestIssuer> {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const kid = newId('key');
  const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' }] });
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(jwks);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void server.close().closeAllConnections());
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const sign: TestIssuer['sign'] = (claims = {}, { typ = 'at+jwt' } = {}) => {
    const now = Math.floor(Date.now() / 1000);
    const all = {
      iss: issuer,
      aud: apiAudience(issuer),
      sub: 'app_test',
      client_id: 'app_test',
      iat: now,
      exp: now + 600,
      jti: newId('jti'),
      ...claims,
    };
    return new SignJWT(all).setProtectedHeader({ alg: 'ES256', kid, typ }).sign(privateKey);
  };
  return {
    issuer,
    sign,
    machine: (scope) => sign({ trusted: true, scope }),
    person: (id, role, scope) => sign({ sub: id, client_id: 'app_web', roles: [role], scope }),
  };
}
