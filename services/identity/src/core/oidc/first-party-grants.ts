import { apiAudience } from '@gatehouse/tokens/scopes';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Account } from '../accounts/account.ts';
import { isFirstParty, managesApplications } from './clients/client-metadata.ts';
import { isCurrent, stampDeviceGrant, stampGrant } from './epochs/sign-in-epochs.ts';
import { FIRST_PARTY_SCOPES } from './permissions.ts';
import type { ProtectedResource } from './protected-resource.ts';
import type { ProviderOptions } from './provider-options.ts';

/** Whether a person answers the request of a device (RFC 8628 §3.3), which has no redirect URI. */
export function isDeviceRequest({ oidc }: KoaContextWithOIDC): boolean {
  return oidc.route === 'code_verification' || oidc.route === 'device_resume';
}

/** The grants of first-party clients, which need no consent. */
export function createFirstPartyGrants({
  issuer,
  findResource,
}: Pick<ProviderOptions, 'issuer' | 'findResource'>) {
  /** Nobody is asked for it. */
  async function grant(ctx: KoaContextWithOIDC, clientId: string, account: Account) {
    const { provider, session } = ctx.oidc;
    const given = new provider.Grant({ accountId: account.id, clientId });
    const scope = managesApplications(clientId) ? FIRST_PARTY_SCOPES.join(' ') : 'openid';
    given.addOIDCScope(scope);
    given.addResourceScope(apiAudience(issuer), scope);
    for (const resource of await ownResources(ctx, account)) {
      given.addResourceScope(resource.identifier, resource.scopes.map(({ name }) => name).join(' '));
    }
    await (isDeviceRequest(ctx) ? stampDeviceGrant : stampGrant)(given, account, session).save();
    return given;
  }

  /** The resources of a request of the command line. Throws `access_denied` unless they are the person's own. */
  async function ownResources({ oidc }: KoaContextWithOIDC, account: Account): Promise<ProtectedResource[]> {
    const indicators = Object.keys(oidc.resourceServers ?? {});
    const others = indicators.filter((it) => it !== apiAudience(issuer));
    const found = await Promise.all(others.map((it) => findResource(it)));
    return found.map((it) => {
      if (it?.owner === account.id) return it;
      throw new errors.AccessDenied('the command line gets tokens for the person’s own APIs only');
    });
  }

  /** The grant of a device that the person has allowed, in this request or, of a first-party client, before they signed in again. */
  async function grantOfDevice(ctx: KoaContextWithOIDC, clientId: string, account: Account) {
    const { provider, result, entities } = ctx.oidc;
    const allowed = result?.consent?.grantId;
    if (!isFirstParty(clientId)) return allowed === undefined ? undefined : provider.Grant.find(allowed);
    const known = await provider.Grant.find(entities.Interaction?.grantId ?? '');
    if (known?.accountId !== account.id || !isCurrent(known, account)) return grant(ctx, clientId, account);
    // The person may have signed in again, with something else.
    await stampDeviceGrant(known, account, ctx.oidc.session).save();
    return known;
  }

  return { grant, grantOfDevice };
}
