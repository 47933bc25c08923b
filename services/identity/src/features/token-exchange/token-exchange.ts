import { ServiceError } from '@gatehouse/core/errors';
import type { Caller } from '@gatehouse/tokens/caller';
import { apiAudience, mcpAudience } from '@gatehouse/tokens/scopes';
import { decodeProtectedHeader } from 'jose';
import { LRUCache } from 'lru-cache';
import type Provider from 'oidc-provider';
import { errors, type Grant, type KoaContextWithOIDC } from 'oidc-provider';
import type { Account } from '../../core/accounts/account.ts';
import { type Application, ruleFor, TOKEN_EXCHANGE_GRANT } from '../../core/applications/application.ts';
import type { Applications } from '../../core/applications/applications.ts';
import { ownerPermissions } from '../../core/applications/ownership.ts';
import { type ActingAt, isActingAllowed, scopesAtOurs } from '../../core/oidc/acting.ts';
import { type ActingTokenOptions, issueActingToken } from '../../core/oidc/acting-token.ts';
import { DASHBOARD_CLIENT } from '../../core/oidc/clients/client-metadata.ts';
import { withinIssuer } from '../../core/oidc/clients/federated-client.ts';
import { scopesInForce } from '../../core/oidc/epochs/consent-epochs.ts';
import { isCurrent } from '../../core/oidc/epochs/sign-in-epochs.ts';
import { invalidGrant } from '../../core/oidc/invalid-grant.ts';
import { MCP_ACTOR, toolScopes } from '../../core/oidc/mcp-resource.ts';
import { scopesFor } from '../../core/oidc/permissions.ts';
import { proofKey } from '../../core/oidc/proof-key.ts';
import type { FindResource, ProtectedResource } from '../../core/oidc/protected-resource.ts';
import type { Permitted, RequestPermissions } from '../../core/oidc/provider-options.ts';
import type { Support } from '../../core/revocations/derived-token-store.ts';
import { type ExchangeRequest, ID_JAG, readExchange, scopesWithin } from './exchange-request.ts';
import { type AssertionOptions, issueIdentityAssertion } from './identity-assertion.ts';

/** A person, an agent, and two services that it calls in turn. */
const MAX_ACTORS = 4;
/** The MCP server uses its token at once. It is not bound to a key, even if the one that it is exchanged for is. */
const TOOL_TOKEN_SECONDS = 60;

type Options = ActingTokenOptions &
  AssertionOptions & {
    lifetimes: { accessToken: number };
    /** Throws `unauthenticated` for a token that is not valid. */
    verify(token: string): Promise<{ caller: Caller; audience: string }>;
    applications: Pick<Applications, 'find'>;
    findResource: FindResource;
  };
/** An application or server that exchanges tokens, and the APIs whose tokens it may exchange. */
type Actor = { id: string; accepts(own: ProtectedResource): boolean };
/** The token that is exchanged, its application, the API that it was sent to, and the person with the grant behind it. */
type Subject = {
  caller: Caller;
  application: Application;
  own: ProtectedResource;
  account: Account;
  grant: Grant;
  kid: string | undefined;
};
/** The API that the new token is for. `resource` is undefined for our own. */
type Target = { audience: string; resource: ProtectedResource | undefined; allowed: readonly string[] };

/**
 * Returns a function that adds token exchange (RFC 8693) to oidc-provider. An application exchanges the token that a person has sent to its
 * API for one for another API, as its setting `token_exchange` permits. The new token names it as `act`, carries no more than the
 * application and the person may do now, and ends with the token that was exchanged.
 */
export function createTokenExchange(options: Options) {
  return (provider: Provider, permissionsOf: RequestPermissions): void => {
    /** The tokens whose exchange for tools is in the audit log. Each request to the MCP server exchanges its token again. */
    const recorded = new LRUCache<string, true>({ max: 10_000 });
    /** For the tools of the MCP server: the same application calls the API, and the server is its actor. */
    async function exchangeForTools(ctx: KoaContextWithOIDC): Promise<void> {
      const { issuer, accounts } = options;
      const request = readExchange(ctx.oidc.params);
      const accepts = ({ identifier }: ProtectedResource) => identifier === mcpAudience(issuer);
      const subject = await subjectOf(options, provider, { id: MCP_ACTOR, accepts }, request.subjectToken);
      const { caller, account, grant, kid, application } = subject;
      const owner = await ownerPermissions(application, accounts.find);
      if (!owner.active) throw invalidGrant('the owner of the application has no active account');
      const permitted = { ...owner, application, scopes: [] };
      const allowed = scopesFor(
        application.id,
        owner.within(toolScopes(caller.scopes, application)),
        account,
      );
      const tokenId = caller.tokenId ?? '';
      const audit = recorded.has(tokenId) ? { record: async () => {} } : options.audit;
      const { access_token, ...others } = await issueActingToken({ ...options, audit }, ctx, {
        ...{ permitted, account, grant, actors: [MCP_ACTOR], jkt: undefined },
        target: { audience: apiAudience(issuer), resource: undefined },
        scopes: scopesWithin(allowed, request.scope),
        epoch: caller.epoch.subject,
        lifetime: lifetimeWithin(TOOL_TOKEN_SECONDS, caller),
        restsOn: supportsOf(caller, kid),
        details: { actors: [MCP_ACTOR] },
      });
      recorded.set(tokenId, true);
      ctx.body = { access_token, issued_token_type: request.tokenType, ...others };
    }
    async function exchange(ctx: KoaContextWithOIDC): Promise<void> {
      if (ctx.oidc.client?.clientId === DASHBOARD_CLIENT) return exchangeForTools(ctx);
      const permitted = await permissionsOf(ctx, ctx.oidc.client?.clientId ?? '');
      if (permitted === undefined) throw new errors.UnauthorizedClient();
      if (ctx.oidc.params?.requested_token_type === ID_JAG) {
        ctx.body = await issueIdentityAssertion(options, provider, ctx, permitted.application);
        return;
      }
      const request = readExchange(ctx.oidc.params);
      const { id, owner, tokenExchange } = permitted.application;
      const accepts = (own: ProtectedResource) =>
        owner !== null && own.owner === owner && ruleFor(tokenExchange, own.identifier) !== undefined;
      const subject = await subjectOf(options, provider, { id, accepts }, request.subjectToken);
      const jkt = await proofKey(provider, ctx, subject.caller.keyThumbprint !== undefined);
      const target = await targetOf(options, { permitted, subject, request });
      const allowed = withinIssuer(ctx, permitted.application.id, target.allowed);
      const scopes = scopesWithin(allowed, request.scope);
      const { caller, account, grant, kid } = subject;
      const actors = [permitted.application.id, ...(caller.actors ?? [])];
      const { access_token, ...others } = await issueActingToken(options, ctx, {
        ...{ permitted, account, grant, actors, target, scopes, jkt },
        epoch: caller.epoch.subject,
        lifetime: lifetimeWithin(options.lifetimes.accessToken, caller),
        restsOn: supportsOf(caller, kid),
        details: { actors },
      });
      ctx.body = { access_token, issued_token_type: request.tokenType, ...others };
    }
    // oidc-provider refuses parameters that are repeated, except these.
    const repeatable = ['resource', 'audience'];
    const parameters = ['subject_token', 'subject_token_type', 'actor_token', 'actor_token_type'];
    provider.registerGrantType(
      TOKEN_EXCHANGE_GRANT,
      exchange,
      [...parameters, 'requested_token_type', 'scope', ...repeatable],
      repeatable,
    );
  };
}

/** Verifies the token as introspection by its API would. Throws `invalid_grant` unless it is a person's, for the caller's own API. */
async function subjectOf(
  { verify, findResource, applications, accounts }: Options,
  provider: Provider,
  actor: Actor,
  token: string,
): Promise<Subject> {
  const { caller, audience } = await verify(token).catch((error: unknown) => {
    const isInvalid = error instanceof ServiceError && error.kind === 'unauthenticated';
    throw isInvalid ? invalidGrant(`the subject_token is not accepted: ${error.message}`) : error;
  });
  const { subject, clientId, grantId, issuedAt, scopes, actors, epoch } = caller;
  // A verifier takes a token without a person for one of the person who owns the application, who is not the subject.
  if (subject === clientId || caller.person?.id !== subject || grantId === undefined) {
    throw invalidGrant('the subject_token is not of a person who has signed in to an application');
  }
  const issuedTo = await applications.find(clientId);
  const own = issuedTo && (await findResource(audience, { ...issuedTo, isMachine: actors !== undefined }));
  if (issuedTo === undefined || own === undefined || !actor.accepts(own)) {
    throw invalidGrant(
      'the subject_token is not for an API of the owner of this application that is in its token_exchange',
    );
  }
  const [account, grant] = await Promise.all([accounts.find(subject), provider.Grant.find(grantId)]);
  const isCurrentPerson = account?.status === 'active' && account.epoch <= epoch.subject;
  const isSame = grant?.accountId === subject && issuedAt >= Math.floor(own.createdAt.getTime() / 1000);
  if (!isCurrentPerson || !isSame || !isCurrent(grant, account)) {
    throw invalidGrant('what the subject_token rests on has ended');
  }
  // The scopes of an exchanged token are those of its actors, not of the grant.
  const inForce = actors === undefined ? scopesInForce(grant, audience, own) : [...scopes];
  if (![...scopes].every((scope) => inForce.includes(scope))) {
    throw invalidGrant('the API of the subject_token has changed since: ask the person again');
  }
  if (actors !== undefined && (actors.length >= MAX_ACTORS || actors.includes(actor.id))) {
    throw invalidGrant(`at most ${MAX_ACTORS} applications act in turn, each once`);
  }
  return { caller, application: issuedTo, own, account, grant, kid: decodeProtectedHeader(token).kid };
}

/** The supports of a new token beside its own claims: the person and the grant, which it has as well, end it by themselves. */
function supportsOf({ tokenId, clientId, epoch }: Caller, kid: string | undefined): Support[] {
  return [
    { kind: 'token', id: tokenId ?? '' },
    { kind: 'client', id: clientId, epoch: epoch.client },
    { kind: 'key', id: kid ?? '' },
  ];
}

/** The API that is asked for, and the scopes that the application may have there for the person. Throws `invalid_target`. */
async function targetOf(
  { issuer, findResource }: Options,
  { permitted, subject, request }: { permitted: Permitted; subject: Subject; request: ExchangeRequest },
): Promise<Target> {
  const { application, givenBy, within } = permitted;
  const { caller, own, account } = subject;
  const rule = ruleFor(application.tokenExchange, request.target ?? own.identifier);
  const ours = apiAudience(issuer);
  if (rule !== undefined && rule.resource === ours) {
    const permittedNow = scopesFor(application.id, within(scopesAtOurs(application, rule)), account);
    return {
      audience: ours,
      resource: undefined,
      allowed: allowedBy(subject, application, { audience: ours }, permittedNow),
    };
  }
  const requester = { ...application, isMachine: true, isOfMember: givenBy !== undefined };
  const resource = rule && (await findResource(rule.resource, requester));
  if (resource === undefined) {
    throw new errors.InvalidTarget('the application may not exchange tokens for this resource');
  }
  const allowed = resource.scopes
    .map(({ name }) => name)
    .filter((name) => rule?.scopes.includes(name))
    .filter((name) => resource.id !== own.id || caller.scopes.has(name));
  const isOfOwner = resource.owner === own.owner;
  return {
    ...{ audience: resource.identifier, resource },
    // Its owner has given the agent nothing that the owner's own servers do not have anyway.
    allowed: isOfOwner ? allowed : allowedBy(subject, application, resource, allowed),
  };
}

/** Those of the scopes for which the consent page has said that the application acts for the person. Throws `invalid_grant` for none. */
function allowedBy(
  { grant }: Subject,
  application: Permitted['application'],
  at: ActingAt,
  scopes: readonly string[],
): string[] {
  const allowed = scopes.filter((scope) => isActingAllowed(grant, application.id, at, scope));
  if (allowed.length > 0 || scopes.length === 0) return allowed;
  throw invalidGrant(
    'the person has not been asked whether this application may act for them there: ask again',
  );
}

/** The lifetime of the new token in seconds: it ends no later than the one that is exchanged. Throws `invalid_grant`. */
function lifetimeWithin(most: number, { expiresAt }: Caller): number {
  const lifetime = Math.min(most, expiresAt - Math.ceil(Date.now() / 1000));
  if (lifetime <= 0) throw invalidGrant('the subject_token has expired');
  return lifetime;
}
