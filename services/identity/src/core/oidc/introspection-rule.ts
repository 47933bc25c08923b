import type { AccessToken, Client, ClientCredentials, KoaContextWithOIDC, RefreshToken } from 'oidc-provider';
import type { Application } from '../applications/application.ts';
import { scopesOf } from './epochs/consent-epochs.ts';
import type { ProtectedResource } from './protected-resource.ts';
import type { ProviderOptions } from './provider-options.ts';

type IntrospectionOptions = Pick<
  ProviderOptions,
  'applications' | 'findResource' | 'callerOfHandle' | 'noteIssued'
>;

/**
 * The resource of somebody else that a token is for, if a refresh would give the application the same scopes of it now, or a machine a
 * token like this one. A resource that is registered again with the same URL has no tokens from before.
 */
async function resourceInForce(
  options: IntrospectionOptions,
  ctx: KoaContextWithOIDC,
  token: AccessToken | ClientCredentials,
  application: Application,
): Promise<ProtectedResource | undefined> {
  const caller = options.callerOfHandle(String(ctx.oidc.params?.token));
  if (caller === undefined) return undefined;
  const { subject, clientId, grantId, givenBy, issuedAt, scopes, actors } = caller;
  const audience = String(token.aud);
  const isMachine = subject === clientId || actors !== undefined;
  const requester = { ...application, isMachine, isOfMember: givenBy !== undefined };
  const found = await options.findResource(audience, requester);
  if (found === undefined || issuedAt < Math.floor(found.createdAt.getTime() / 1000)) return undefined;
  // That of a machine is no person's, and its revocations were checked with the token.
  const isOfPerson = grantId !== undefined && subject !== clientId;
  const grant = isOfPerson ? await ctx.oidc.provider.Grant.find(grantId) : undefined;
  if (isOfPerson && grant === undefined) return undefined;
  // The grant of an exchanged token is for the API of the first token.
  const inForce = scopesOf(found, audience, actors === undefined ? grant : undefined);
  return [...scopes].every((scope) => inForce.includes(scope)) ? found : undefined;
}

/** How long a resource server may keep what an API key permits, in seconds, until it introspects it again. */
const KEY_CACHE_SECONDS = 60;

/** A resource server may keep the response for an API key, and so hears of what ends the key. */
async function noteCachedKey(
  options: IntrospectionOptions,
  ctx: KoaContextWithOIDC,
  resource: ProtectedResource | undefined,
): Promise<void> {
  const caller = options.callerOfHandle(String(ctx.oidc.params?.token));
  if (resource === undefined || caller?.keyId === undefined) return;
  const { clientId, keyId: apiKeyId, person, epoch } = caller;
  const key = { resource: resource.id, clientId, subject: person?.id, apiKeyId, epoch };
  await options.noteIssued(key, new Date(Date.now() + 2 * KEY_CACHE_SECONDS * 1000));
}

/** Returns a function that decides whether a client may introspect a token. */
export function introspectionRule(
  options: IntrospectionOptions,
  {
    audiencesOf,
    permissions,
  }: {
    audiencesOf(clientId: string): readonly string[];
    permissions(
      ctx: KoaContextWithOIDC,
      clientId: string,
    ): Promise<{ application: Application; givenBy?: string | undefined } | undefined>;
  },
) {
  /** A client may introspect its own tokens, and a resource server the access tokens of the API (RFC 7662 §2.1). */
  return async function mayIntrospect(
    ctx: KoaContextWithOIDC,
    client: Client,
    token: AccessToken | ClientCredentials | RefreshToken,
  ): Promise<boolean> {
    if (client.clientAuthMethod === 'none') return false;
    const { clientId = '' } = token;
    const isOwn = clientId === client.clientId;
    if (token.kind === 'RefreshToken') return isOwn;
    const isOurs = audiencesOf(clientId).includes(String(token.aud));
    if (isOurs && isOwn) return true;
    // The token of a login is of no application, and for nobody but us.
    const application = await options.applications.find(clientId);
    if (application === undefined) return false;
    const resource = isOurs ? undefined : await resourceInForce(options, ctx, token, application);
    if (!isOurs && resource === undefined) return false;
    if (isOwn) return true;
    const { application: introspecting, givenBy } = (await permissions(ctx, client.clientId)) ?? {};
    if (introspecting?.type !== 'resource') return false;
    if (isOurs) return true;
    // That of a resource of others is for whoever has registered it.
    if (resource?.owner !== introspecting.owner) return false;
    // A member's secret is for the resources that list the application.
    const requester = { ...introspecting, isMachine: true, isOfMember: true };
    const isListed = async () => (await options.findResource(String(token.aud), requester)) !== undefined;
    if (givenBy !== undefined && !(await isListed())) return false;
    await noteCachedKey(options, ctx, resource);
    return true;
  };
}
