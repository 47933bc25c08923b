import { randomUUID, type webcrypto } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { type Built, signInAndAllow } from '../../build.ts';
import { dpopKey, pkce } from '../../tokens.ts';

type Browser = ReturnType<Built['browser']>;
type Parameters = Record<string, string>;

export const CALLBACK = 'https://fapi.example.org/callback';

/** An application that is held to the FAPI 2.0 Security Profile, and what such a client does. */
export async function fapiClient(built: Built, options: { alg?: string; type?: 'web' | 'machine' } = {}) {
  const { base, call, form } = built;
  const { alg = 'ES256', type = 'web' } = options;
  const { privateKey, publicKey } = await generateKeyPair(alg === 'RS256' ? 'PS256' : alg, {
    extractable: true,
  });
  // Without an alg, so that it is not the key that decides.
  const { alg: _, ...jwk } = await exportJWK(publicKey);
  const made = await call('POST', '/api/v1/applications', await built.login('admin'), {
    name: 'Fapi',
    type,
    ...(type === 'web' ? { redirect_uris: [CALLBACK] } : { trusted: true }),
    scopes: type === 'web' ? ['openid', 'email', 'read:data'] : ['read:users'],
    jwks: { keys: [jwk] },
    security_profile: 'fapi2',
  });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  const id = String(made.body.client_id);
  const key = alg === 'RS256' ? await asRs256(privateKey) : privateKey;

  /** A client assertion (RFC 7523 §3); `undefined` removes a claim. */
  function assertion(claims: Record<string, unknown> = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const usual = { iss: id, sub: id, aud: base, jti: randomUUID(), iat: now, exp: now + 60 };
    return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg }).sign(key);
  }
  const authenticated = async (parameters: Parameters, claims?: Record<string, unknown>) => ({
    ...parameters,
    client_id: id,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await assertion(claims),
  });
  const dpop = await dpopKey();
  const proof = async (path: string, key = dpop) => ({ dpop: await key.proof('POST', `${base}${path}`) });
  const { code_verifier, challenge } = pkce();
  const request: Parameters = {
    response_type: 'code',
    redirect_uri: CALLBACK,
    scope: 'openid email read:data',
    state: 'some-state',
    nonce: 'some-nonce',
    ...challenge,
  };
  const without = (...names: string[]) =>
    Object.fromEntries(Object.entries(request).filter(([name]) => !names.includes(name)));
  const push = async (parameters = request, headers: Parameters = {}, claims?: Record<string, unknown>) =>
    form(await authenticated(parameters, claims), headers, '/oauth2/par');
  const urlFor = (request_uri: unknown, more: Parameters = {}) =>
    `/oauth2/authorize?${new URLSearchParams({ client_id: id, request_uri: String(request_uri), ...more })}`;

  /** Pushes a request and goes through the pages. Where that leads to. */
  async function authorize(browser: Browser, parameters = request, headers: Parameters = {}): Promise<URL> {
    const pushed = await push(parameters, headers);
    if (pushed.status !== 201) throw new Error(JSON.stringify(pushed.body));
    return (await signInAndAllow(browser, urlFor(pushed.body.request_uri))).url;
  }
  async function exchange(callback: URL, headers?: Parameters, more: Parameters = {}) {
    const code = callback.searchParams.get('code') ?? '';
    const grant = { grant_type: 'authorization_code', code, code_verifier, redirect_uri: CALLBACK, ...more };
    return form(await authenticated(grant), headers ?? (await proof('/oauth2/token')));
  }
  return {
    id,
    made: made.body,
    dpop,
    proof,
    request,
    without,
    assertion,
    authenticated,
    push,
    urlFor,
    authorize,
    exchange,
    async tokens(browser: Browser) {
      const { status, body } = await exchange(await authorize(browser));
      if (status !== 200) throw new Error(JSON.stringify(body));
      return body as Record<'access_token' | 'refresh_token' | 'id_token' | 'token_type', string>;
    },
  };
}

/** The same RSA key for RS256. */
async function asRs256(key: webcrypto.CryptoKey): Promise<webcrypto.CryptoKey> {
  const pkcs8 = await crypto.subtle.exportKey('pkcs8', key);
  return crypto.subtle.importKey('pkcs8', pkcs8, { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, false, [
    'sign',
  ]);
}
