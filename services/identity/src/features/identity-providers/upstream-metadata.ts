import type { JWTVerifyGetKey } from 'jose';
import { createRemoteJWKSet, customFetch, errors, importPKCS8, SignJWT } from 'jose';
import type { ClientAuth, Configuration } from 'openid-client';
import type { IdentityProvider } from '../../core/foundation/identity-provider.ts';
import { UpstreamError } from './upstream-identity.ts';

/** A request to the provider, whose response has been read. */
export type Ask = (url: string | URL, init?: unknown) => Promise<Response>;

export type Loaded = {
  oauth: typeof import('openid-client');
  config: Configuration;
  /** For tokens that we have asked the provider for, and for those that anybody can send us. */
  keys: JWTVerifyGetKey;
  logoutKeys: JWTVerifyGetKey;
};

export const TIMEOUT_MS = 8000;
const KEYS_MS = 600_000;

/** The library, and the metadata of a provider. Throws an UpstreamError when they are not its own. */
export async function fetchMetadata(
  provider: IdentityProvider,
  authenticate: ReturnType<typeof clientAuthentication>,
  ask: Ask,
): Promise<Loaded> {
  const oauth = await import('openid-client');
  const auth = await authenticate(oauth);
  const { clientId, issuer } = provider;
  const isLocal = issuer.startsWith('http:');
  const execute = isLocal ? [oauth.allowInsecureRequests] : [];
  let config: Configuration;
  if (provider.protocol === 'oauth') {
    const server = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/access_token`,
    };
    config = new oauth.Configuration(server, clientId, {}, auth);
    config[oauth.customFetch] = ask;
    for (const extend of execute) extend(config);
  } else {
    const more = { [oauth.customFetch]: ask, timeout: TIMEOUT_MS / 1000, execute };
    config = await oauth.discovery(new URL(issuer), clientId, {}, auth, more);
  }
  const { jwks_uri: uri, authorization_endpoint: page = '' } = config.serverMetadata();
  // Browsers are sent there: no other protocol must get onto our pages.
  if (URL.parse(page)?.protocol !== 'https:' && !(isLocal && URL.parse(page)?.protocol === 'http:')) {
    throw new UpstreamError('refused', 'its authorization_endpoint is no https URL');
  }
  const keySet = (more: { cooldownDuration?: number }): JWTVerifyGetKey =>
    uri === undefined
      ? async () => {
          throw new errors.JWKSNoMatchingKey();
        }
      : createRemoteJWKSet(new URL(uri), {
          ...{ [customFetch]: ask, timeoutDuration: TIMEOUT_MS, cacheMaxAge: KEYS_MS, ...more },
        });
  // Each unknown key is fetched at once only where the provider itself must have sent it.
  return { oauth, config, keys: keySet({ cooldownDuration: 0 }), logoutKeys: keySet({}) };
}

/** How we prove at the token endpoint who we are (RFC 6749 §2.3.1), or Apple's way of it. */
export function clientAuthentication({ authentication, clientId }: IdentityProvider) {
  return async (oauth: typeof import('openid-client')): Promise<ClientAuth> => {
    if (authentication.method === 'apple') {
      const { teamId, keyId } = authentication;
      const key = await importPKCS8(authentication.privateKey, 'ES256');
      return async (as, client, body, headers) => {
        const secret = await new SignJWT()
          .setProtectedHeader({ alg: 'ES256', kid: keyId })
          .setIssuer(teamId)
          .setSubject(clientId)
          .setAudience(as.issuer)
          .setIssuedAt()
          .setExpirationTime('5 minutes')
          .sign(key);
        return oauth.ClientSecretPost(secret)(as, client, body, headers);
      };
    }
    const { method, secret } = authentication;
    const [basic, post] = [oauth.ClientSecretBasic(secret), oauth.ClientSecretPost(secret)];
    return (as, client, body, headers) => {
      // OpenID Connect Discovery 1.0 §3: the first is what holds where nothing is said.
      const supported = as.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
      const isBasic =
        (method ?? (supported.includes('client_secret_basic') ? 'client_secret_basic' : '')) ===
        'client_secret_basic';
      return (isBasic ? basic : post)(as, client, body, headers);
    };
  };
}
