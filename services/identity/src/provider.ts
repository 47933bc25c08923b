import { API_SCOPES, apiAudience, OIDC_SCOPES, parseScope } from '@gatehouse/tokens/scopes';
import type { JWK } from 'jose';
import Provider, {
  type AdapterPayload,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
} from 'oidc-provider';
import { type Application, type ApplicationStore, acceptsSecret } from './application.ts';
import type { OidcStore } from './oidc-adapter.ts';
import type { SigningAlgorithm } from './signing-keys.ts';

export type ProviderOptions = {
  issuer: string;
  keys: { keys: JWK[] };
  /** For signing cookies. */
  cookieKey: string;
  accessTokenAlgorithm: SigningAlgorithm;
  /** In seconds. */
  accessTokenLifetime: number;
  applications: ApplicationStore;
  store: OidcStore;
};

/** oidc-provider, configured. Keys cannot be changed later: for a rotation, build another and swap. */
export function createProvider(options: ProviderOptions): Provider {
  const { issuer, applications, accessTokenLifetime } = options;
  const audience = apiAudience(issuer);

  const configuration: Configuration = {
    adapter: options.store.adapterFor,
    jwks: options.keys,
    cookies: { keys: [options.cookieKey] },
    routes: {
      authorization: '/oauth2/authorize',
      token: '/oauth2/token',
      jwks: '/.well-known/jwks.json',
    },
    // Scopes that are not named here would be granted to any client that asks.
    scopes: [...OIDC_SCOPES, ...API_SCOPES],
    responseTypes: ['code'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post'],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
      // Every access token is bound to the API, and so is a JWT that services can verify by themselves.
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        useGrantedResource: () => true,
        async getResourceServerInfo(ctx, resource, client) {
          if (resource !== audience) throw new errors.InvalidTarget();
          if (ctx.oidc.params?.grant_type === 'client_credentials') {
            settleScope(ctx, await applications.findById(client.clientId));
          }
          return {
            audience,
            scope: [...OIDC_SCOPES, ...API_SCOPES].join(' '),
            accessTokenFormat: 'jwt',
            accessTokenTTL: accessTokenLifetime,
            jwt: { sign: { alg: options.accessTokenAlgorithm } },
          };
        },
      },
    },
    async extraTokenClaims(_ctx, token) {
      const application = await applications.findById(token.clientId ?? '');
      return application === undefined ? undefined : claimsOf(application);
    },
    ttl: { ClientCredentials: accessTokenLifetime },
    renderError(ctx, { error, error_description }) {
      ctx.type = 'application/json';
      ctx.body = { error, error_description };
    },
  };

  const provider = new Provider(issuer, configuration);
  // The default compares with a client_secret in plain text, which we do not have.
  provider.Client.prototype.compareClientSecret = async function compare(this: { clientId: string }, secret) {
    const application = await applications.findById(this.clientId);
    return application !== undefined && acceptsSecret(application, secret);
  };
  return provider;
}

/** An application as oidc-provider wants to see a client. */
export function clientMetadata(application: Application): AdapterPayload {
  return {
    client_id: application.id,
    // Must be there for a confidential client; compareClientSecret does not look at it.
    client_secret: 'kept as a hash',
    client_name: application.name,
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
    scope: application.scopes.join(' '),
    id_token_signed_response_alg: 'RS256',
  };
}

/**
 * Without a scope, a machine is given all that its application may ask for (RFC 6749 §3.3). A scope beyond
 * that is refused here, since oidc-provider drops what it does not know in silence.
 */
function settleScope(ctx: KoaContextWithOIDC, application: Application | undefined): void {
  const { params } = ctx.oidc;
  if (params === undefined || application === undefined) return;
  const requested = parseScope(String(params.scope ?? ''));
  const refused = requested.filter((scope) => !application.scopes.includes(scope));
  if (refused.length > 0) {
    const named = refused.join(' ').slice(0, 100);
    throw new errors.InvalidScope(`this application may not ask for ${named}`, named);
  }
  if (requested.length === 0) params.scope = application.scopes.join(' ');
}

function claimsOf({ trusted, owner, epoch }: Application): Record<string, unknown> {
  return {
    epoch: { client: epoch },
    // Whoever is not trusted stands under their owner.
    ...(trusted ? { trusted } : { owner }),
  };
}
