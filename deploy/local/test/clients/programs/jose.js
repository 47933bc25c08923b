import { createRemoteJWKSet, jwtVerify } from 'jose';
import { ISSUER, MACHINE_ID, MACHINE_SECRET, say } from './harness.js';

const keys = createRemoteJWKSet(new URL(`${ISSUER}/.well-known/jwks.json`));
const body = new URLSearchParams({ grant_type: 'client_credentials', scope: 'read:users' });
const authorization = `Basic ${btoa(`${MACHINE_ID}:${MACHINE_SECRET}`)}`;
const response = await fetch(`${ISSUER}/oauth2/token`, { method: 'POST', headers: { authorization }, body });
const { access_token } = await response.json();
await jwtVerify(access_token, keys, { issuer: ISSUER, audience: `${ISSUER}/api`, typ: 'at+jwt' });
say('token', access_token);
