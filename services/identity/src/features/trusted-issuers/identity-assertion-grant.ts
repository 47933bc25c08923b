import { apiAudience, parseScope } from '@gatehouse/tokens/scopes';
import type Provider from 'oidc-provider';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Account, Accounts } from '../../core/accounts/account.ts';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import { JWT_BEARER_GRANT } from '../../core/applications/application.ts';
import type { LinkedPerson } from '../../core/extensions.ts';
import { type ActingTokenOptions, issueActingToken } from '../../core/oidc/acting-token.ts';
import type { OidcStore } from '../../core/oidc/adapter/oidc-adapter.ts';
import { withinIssuer } from '../../core/oidc/clients/federated-client.ts';
import { invalidGrant } from '../../core/oidc/invalid-grant.ts';
import { scopesFor } from '../../core/oidc/permissions.ts';
import { proofKey } from '../../core/oidc/proof-key.ts';
import type { FindResource, ProtectedResource } from '../../core/oidc/protected-resource.ts';
import type { Permitted, RequestPermissions } from '../../core/oidc/provider-options.ts';
import type { IdentityAssertion } from './identity-assertion.ts';
import { applicationActs } from './identity-assertion-notice.ts';
import { grantIdOf } from './trusted-issuer.ts';

/** How long after the mail about an application the next one may follow. */
const NOTICE_MS = 90 * 86_400_000;

type Options = ActingTokenOptions & {
  issuer: string;
  lifetimes: { accessToken: number };
  readAssertion(assertion: string, clientId: string): Promise<IdentityAssertion>;
  /** The person who has signed in here as this subject of an identity provider. */
  findLinked(identity: { issuer: string; subject: string }): Promise<LinkedPerson | undefined>;
  accounts: Pick<Accounts, 'find'>;
  findResource: FindResource;
  mails: Pick<AccountMails, 'notify'>;
  secondFactorRequirement: { appliesTo(account: Account): boolean };
  useOnce: OidcStore['useOnce'];
};

/**
 * Returns a function that adds identity assertions as grants to oidc-provider (draft-ietf-oauth-identity-assertion-authz-grant): an issuer that
 * an admin trusts states that a client may act for a person who signs in here by that issuer. The person is not asked.
 */
export function createIdentityAssertionGrant(options: Options) {
  return (provider: Provider, permissionsOf: RequestPermissions): void => {
    allowConfidentialClients(provider);

    async function grant(ctx: KoaContextWithOIDC): Promise<void> {
      const { assertion, resource, scope = '' } = ctx.oidc.params ?? {};
      const clientId = ctx.oidc.client?.clientId ?? '';
      const permitted = await permissionsOf(ctx, clientId);
      if (permitted === undefined || permitted.application.type === 'resource')
        throw new errors.UnauthorizedClient('only applications of type web and machine act for people');
      if (permitted.application.requireSecondFactor)
        throw invalidGrant('the application requires a second factor, which an assertion does not prove');
      if (typeof assertion !== 'string') throw new errors.InvalidRequest('assertion is required');
      const read = await options.readAssertion(assertion, clientId);
      const linked = await options.findLinked({ issuer: read.issuer.issuer, subject: read.subject });
      const account = linked && (await options.accounts.find(linked.userId));
      if (linked === undefined || account?.status !== 'active')
        throw invalidGrant('the assertion is for a person who has not signed in here by its issuer');
      if (options.secondFactorRequirement.appliesTo(account))
        throw invalidGrant('the person needs a second factor here, which an assertion does not prove');
      if (resource !== undefined && read.resource !== undefined && resource !== read.resource)
        throw new errors.InvalidTarget('the resource is not that of the assertion');
      const indicator = read.resource ?? (resource as string | undefined);
      const target = await targetOf(options, { permitted, account, indicator });
      const scopes = scopesWithin(withinIssuer(ctx, clientId, target.scopes), [
        read.issuer.scopes,
        parsed(read.scope),
        parsed(String(scope)),
      ]);
      const jkt = await proofKey(provider, ctx);
      if (read.jkt !== undefined && read.jkt !== jkt)
        throw invalidGrant('the assertion is bound to a key, and the request has no DPoP proof of it');
      ctx.body = await issueActingToken(options, ctx, {
        ...{ permitted, account, target, scopes, jkt, actors: [clientId] },
        ...{ epoch: account.epoch, lifetime: options.lifetimes.accessToken },
        restsOn: [{ kind: 'grant', id: grantIdOf(read.issuer) }, ...linked.restsOn],
        details: { issuer: read.issuer.id },
      });
      await notifyOnce(options, permitted.application, linked);
    }
    provider.registerGrantType(JWT_BEARER_GRANT, grant, ['assertion', 'scope', 'resource'], []);
  };
}

/** It is in no client's metadata: who may use it follows from the issuers. */
function allowConfidentialClients({ Client }: Provider): void {
  const { grantTypeAllowed } = Client.prototype;
  Client.prototype.grantTypeAllowed = function isAllowed(type) {
    return type === JWT_BEARER_GRANT ? this.clientAuthMethod !== 'none' : grantTypeAllowed.call(this, type);
  };
}

/** The API that a token is for, and the scopes that the application may have there for the person. Throws `invalid_target`. */
async function targetOf(
  { issuer, findResource }: Options,
  {
    permitted,
    account,
    indicator,
  }: { permitted: Permitted; account: Account; indicator: string | undefined },
): Promise<{ audience: string; resource: ProtectedResource | undefined; scopes: readonly string[] }> {
  const { application, givenBy, within } = permitted;
  const ours = apiAudience(issuer);
  if (indicator === undefined || indicator === ours) {
    const scopes = scopesFor(application.id, within(application.scopes), account);
    return { audience: ours, resource: undefined, scopes };
  }
  // Nobody was asked: as for itself, the application gets tokens for APIs that are its owner's or list it.
  const requester = { ...application, isMachine: true, isOfMember: givenBy !== undefined };
  const resource = await findResource(indicator, requester);
  if (resource === undefined)
    throw new errors.InvalidTarget('this application gets no tokens for the resource');
  return { audience: resource.identifier, resource, scopes: resource.scopes.map(({ name }) => name) };
}

const parsed = (scope: string | undefined) => (scope ? parseScope(scope) : null);

/** The scopes that are within all bounds: wider ones are narrowed. Throws `invalid_scope` if none is left. */
function scopesWithin(
  allowed: readonly string[],
  bounds: readonly (readonly string[] | null)[],
): readonly string[] {
  const scopes = allowed.filter((scope) => bounds.every((bound) => bound?.includes(scope) ?? true));
  if (scopes.length === 0) throw new errors.InvalidScope('none of the scopes is allowed', '');
  return scopes;
}

/** Nobody has asked the person: a mail says so, when the application has not acted for them for some months. */
async function notifyOnce(
  { useOnce, mails }: Options,
  { id, name }: Permitted['application'],
  { userId, provider }: LinkedPerson,
): Promise<void> {
  const until = new Date(Date.now() + NOTICE_MS);
  if (await useOnce(`identity assertion ${provider} ${id} ${userId}`, until))
    void mails.notify(userId, applicationActs(name, provider));
}
