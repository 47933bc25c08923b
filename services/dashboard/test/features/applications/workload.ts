import { createSign, generateKeyPairSync } from 'node:crypto';

/** An issuer of workloads: its keys, and tokens that it signs. */
export function createWorkloadIssuer(issuer: string) {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return {
    jwks: { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one' }] },
    /** A token that is valid for five minutes. */
    sign(claims: Readonly<Record<string, unknown>>): string {
      const now = Math.floor(Date.now() / 1000);
      const body = `${part({ alg: 'RS256', kid: 'one' })}.${part({ iss: issuer, iat: now, exp: now + 300, ...claims })}`;
      return `${body}.${createSign('sha256').update(body).sign(privateKey, 'base64url')}`;
    },
  };
}
