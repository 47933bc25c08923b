import { createCore } from '@gatehouse/verify/core';
import { createRevocationSet } from '@gatehouse/verify/revocations';
import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { AUDIENCE, ISSUER, type Json, JWKS, token } from './vectors/signing.ts';

export const METADATA =
  'resource_metadata="https://api.example.com/.well-known/oauth-protected-resource/notes"';

/** A verifier of tokens that are valid now, without credentials. */
export function localVerifier() {
  return createCore({
    issuer: ISSUER,
    audience: AUDIENCE,
    staleThen: 'introspect',
    keys: createLocalJWKSet(JWKS as JSONWebKeySet),
    set: createRevocationSet(),
  });
}

export function tokenOfNow(change: Json = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return token({ iat: now, exp: now + 600, ...change });
}
