import { hash, randomBytes } from 'node:crypto';
import { calculateJwkThumbprint, decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { Connection } from 'mongoose';
import { createTokenSigner, type TokenSigner } from '../src/core/tokens/token-signer.ts';
import { createSigningKeyStore } from '../src/keys/signing-key-store.ts';
import { createSigningKeySealer, loadSigningKeys } from '../src/keys/signing-keys.ts';
import { type Built, codeFor, PASSWORD, WEB } from './build.ts';

export type JsonResponse = { status: number; headers: Headers; body: Record<string, unknown> };
type Client = { client_id: string; client_secret?: string; redirect_uri: string };
export type Tokens = { access_token: string; refresh_token: string; id_token: string; scope: string };

/** A code verifier and its challenge (RFC 7636 §4). */
export function pkce() {
  const code_verifier = randomBytes(32).toString('base64url');
  const code_challenge = hash('sha256', code_verifier, 'base64url');
  return { code_verifier, challenge: { code_challenge, code_challenge_method: 'S256' } };
}

/** Signs in, allows and exchanges the code; public clients with PKCE. `more` goes into the authorization request. */
export async function tokensFor(
  built: Built,
  options: {
    browser?: ReturnType<Built['browser']>;
    client?: Client;
    username?: string;
    password?: string;
    more?: Record<string, string>;
    headers?: Record<string, string>;
  } = {},
): Promise<Tokens> {
  const { browser = built.browser(), client = WEB, username = 'ann', password = PASSWORD } = options;
  const { code_verifier, challenge } = pkce();
  const { client_id, redirect_uri } = client;
  const more = { client_id, redirect_uri, ...challenge, ...options.more };
  const code = await codeFor(browser, more, username, password);
  const { status, body } = await built.form(
    { grant_type: 'authorization_code', code, code_verifier, ...client },
    options.headers,
  );
  if (status !== 200) throw new Error(`the exchange answered ${status} ${JSON.stringify(body)}`);
  return body as Tokens;
}

/** A refresh with the form endpoint. */
export function refresh(
  built: Built,
  refreshToken: string,
  client: Omit<Client, 'redirect_uri'> = WEB,
  more: Record<string, string> = {},
): Promise<JsonResponse> {
  const { client_id, client_secret } = client;
  const credentials: Record<string, string> =
    client_secret === undefined ? { client_id } : { client_id, client_secret };
  return built.form({ grant_type: 'refresh_token', refresh_token: refreshToken, ...credentials, ...more });
}

/** What the users service, and identity itself, say to a token: 401 is a dead one. */
export async function statusesOf(built: Built, token: string): Promise<[users: number, identity: number]> {
  const responses = await Promise.all([
    built.call('GET', `/v1/users/${built.people.ann.id}`, token),
    built.call('GET', '/api/v1/auth/permissions', token),
  ]);
  return responses.map(({ status }) => status) as [number, number];
}

/** Waits until the users service and identity itself refuse the token; the milliseconds that took. */
export async function untilDead(built: Built, token: string): Promise<number> {
  const start = performance.now();
  while ((await statusesOf(built, token)).some((status) => status !== 401)) {
    if (performance.now() - start > 5000) throw new Error('the token lives on');
  }
  return performance.now() - start;
}

/** Moves times of a stored code or refresh token to so many seconds from now. */
export async function age(
  database: Connection,
  collection: string,
  credential: string,
  seconds: { expires_at?: number; consumed_at?: number },
): Promise<void> {
  const times = Object.entries(seconds).map(([field, from]) => [field, new Date(Date.now() + from * 1000)]);
  const { matchedCount } = await database
    .collection<{ _id: string }>(collection)
    .updateOne({ _id: keyOf(credential) }, { $set: Object.fromEntries(times) });
  if (matchedCount !== 1) throw new Error(`there is no such document in ${collection}`);
}

/** By what a code or a refresh token is stored. */
export function keyOf(credential: string): string {
  return hash('sha256', credential, 'base64url');
}

/** Signs with identity's own key what identity itself would not. */
export async function signerOf(
  database: Connection,
  { masterKey, issuer }: { masterKey: Buffer; issuer: string },
): Promise<TokenSigner> {
  const sealer = createSigningKeySealer([masterKey]);
  const { keys, currentKid } = await loadSigningKeys(createSigningKeyStore(database), sealer);
  const key = keys.find(({ kid }) => kid === currentKid.ES256);
  if (key === undefined) throw new Error('there is no key');
  return createTokenSigner(issuer, key);
}

/** The token of a login as it is when the login is six minutes old: too old for what takes a fresh sign-in. */
export async function staleToken(built: Built, masterKey: Buffer, login: string): Promise<string> {
  const sign = await signerOf(await built.database(), { masterKey, issuer: built.base });
  const { sub, gid, epoch, scope, auth_time, acr, roles } = decodeJwt(login);
  const { token } = await sign({
    ...{ subject: String(sub), clientId: 'gatehouse-login', audience: `${built.base}/api` },
    ...{ scope: String(scope), lifetime: 600 },
    claims: { gid, epoch, acr, roles, auth_time: Number(auth_time) - 360 },
  });
  return token;
}

/** A key pair that makes DPoP proofs (RFC 9449 §4.2). */
export async function dpopKey(alg = 'ES256') {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  const jwk = await exportJWK(publicKey);
  return {
    thumbprint: await calculateJwkThumbprint(jwk),
    /** `iat` is in seconds. */
    proof: (method: string, url: string, token?: string, iat?: number) =>
      new SignJWT({
        htm: method,
        htu: url,
        ...(token === undefined ? {} : { ath: hash('sha256', token, 'base64url') }),
      })
        .setProtectedHeader({ alg, typ: 'dpop+jwt', jwk })
        .setJti(randomBytes(16).toString('base64url'))
        .setIssuedAt(iat)
        .sign(privateKey),
  };
}
