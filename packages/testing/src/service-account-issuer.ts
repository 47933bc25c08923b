import { randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

type Claims = { age?: number; [name: string]: unknown };

/**
 * An issuer of projected tokens of service accounts in the namespace `gatehouse`, as Kubernetes writes them
 * (https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/). Nothing can be fetched from it.
 */
export async function createServiceAccountIssuer(issuer = 'https://kubernetes.default.svc.cluster.local') {
  const pair = await generateKeyPair('RS256');
  const { n = '', e = '' } = await exportJWK(pair.publicKey);
  const kid = randomUUID();
  return {
    issuer,
    jwks: { keys: [{ kty: 'RSA', n, e, kid, alg: 'RS256', use: 'sig' }] },
    subjectOf: (service: string) => `system:serviceaccount:gatehouse:${service}`,
    /** A token of an hour for the audience, made `age` seconds ago; undefined leaves a claim out. */
    sign(service: string, audience: string, { age = 0, ...claims }: Claims = {}) {
      const iat = Math.floor(Date.now() / 1000) - age;
      return new SignJWT({
        ...{ iss: issuer, sub: `system:serviceaccount:gatehouse:${service}`, aud: [audience] },
        ...{ iat, nbf: iat, exp: iat + 3600, jti: randomUUID() },
        'kubernetes.io': {
          namespace: 'gatehouse',
          node: { name: 'node-1', uid: randomUUID() },
          pod: { name: `${service}-5d8c7b9f4-x2x7q`, uid: randomUUID() },
          serviceaccount: { name: service, uid: randomUUID() },
        },
        ...claims,
      })
        .setProtectedHeader({ alg: 'RS256', kid })
        .sign(pair.privateKey);
    },
  };
}
