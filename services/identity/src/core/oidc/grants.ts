import { apiAudience, parseScope } from '@gatehouse/tokens/scopes';
import { type AdapterPayload, errors, type Grant, type KoaContextWithOIDC } from 'oidc-provider';
import type { Account } from '../accounts/account.ts';
import { isAllActingAllowed } from './acting.ts';
import { scopesOfClaims } from './claims/claims-parameter.ts';
import type { ProviderAccount } from './claims/provider-account.ts';
import { hasOfflineAccess, OFFLINE_ACCESS } from './claims/scope-rules.ts';
import { isFirstParty } from './clients/client-metadata.ts';
import {
  consentEpochOf,
  isForRedirectUri,
  isOfConsentEpoch,
  scopesInForce,
} from './epochs/consent-epochs.ts';
import { isCurrent } from './epochs/sign-in-epochs.ts';
import { createFirstPartyGrants, isDeviceRequest } from './first-party-grants.ts';
import { FIRST_PARTY_SCOPES, scopesFor } from './permissions.ts';
import type { ProviderOptions } from './provider-options.ts';

const DAY = 86_400;
/** The share of its lifetime below which a refresh token is extended: two writes are too much for every use of it. */
const EXTENDED_BELOW = 0.99;

/** All scopes of a grant as it is stored, those of resources and of single claims included. */
export function scopesOfGrant(payload: AdapterPayload): string[] {
  const { scope = '', claims = [] } = (payload.openid ?? {}) as { scope?: string; claims?: string[] };
  const ofResources = Object.values((payload.resources ?? {}) as Record<string, string>);
  return [...parseScope([scope, ...ofResources].join(' ')), ...scopesOfClaims(claims)];
}

/** The lifetime of a grant: it must outlive what is issued under it. */
export function grantSeconds({ refreshToken }: ProviderOptions['lifetimes']): number {
  return refreshToken + DAY;
}

/** How long grants and refresh tokens live, and whether an earlier grant is enough. */
export function createGrants(
  options: Pick<ProviderOptions, 'issuer' | 'lifetimes' | 'store' | 'findResource' | 'findActing'>,
) {
  const { store } = options;
  const firstParty = createFirstPartyGrants(options);
  const { refreshToken: refreshTokenSeconds } = options.lifetimes;
  const seconds = grantSeconds(options.lifetimes);

  /**
   * Removes the scopes that the person's role does not allow, so that the consent page does not ask for them, and offline_access
   * unless the application is native. A device stays signed in without it.
   */
  function limitToRole(ctx: KoaContextWithOIDC, clientId: string, account: Account): void {
    const { oidc } = ctx;
    const { params } = oidc;
    const servers = Object.values(oidc.resourceServers ?? {});
    const ofOthers = new Set(
      servers
        .flatMap(({ scope }) => parseScope(String(scope)))
        .filter((name) => !FIRST_PARTY_SCOPES.includes(name)),
    );
    const allowed = (scope: unknown) => {
      const names = parseScope(String(scope));
      return [...scopesFor(clientId, names, account), ...names.filter((name) => ofOthers.has(name))].join(
        ' ',
      );
    };
    for (const server of servers) server.scope = allowed(server.scope);
    if (params?.scope === undefined) return;
    const isKept =
      oidc.client?.applicationType === 'native' && !isDeviceRequest(ctx) && hasOfflineAccess(params.scope);
    params.scope = allowed(params.scope);
    if (params.scope === '')
      throw new errors.AccessDenied('the role of the person allows none of these scopes');
    if (isKept) params.scope += ` ${OFFLINE_ACCESS}`;
  }

  /**
   * Leaves in a grant, for this request, the scopes of resources of others that mean what the person allowed, and lead no further through
   * applications that act for the person.
   */
  async function limitToSentences({ oidc }: KoaContextWithOIDC, grant: Grant): Promise<void> {
    for (const indicator of Object.keys(oidc.resourceServers ?? {})) {
      if (indicator === apiAudience(options.issuer) || grant.resources?.[indicator] === undefined) continue;
      const resource = await options.findResource(indicator);
      const isAllowed =
        resource !== undefined && isAllActingAllowed(grant, await options.findActing([resource]));
      const scopes = isAllowed ? scopesInForce(grant, indicator, resource) : [];
      grant.resources[indicator] = scopes.join(' ');
    }
  }

  return {
    seconds,

    /** The grant of this session, unless it has ended or is from before the account's current sign-in epoch. */
    async loadExisting(ctx: KoaContextWithOIDC): Promise<Grant | undefined> {
      const { client, params, result, session, provider } = ctx.oidc;
      const { account } = ctx.oidc.entities.Account as ProviderAccount;
      // Each device is asked for by itself (RFC 8628 §5.4), and outlives the session of the browser.
      if (isDeviceRequest(ctx)) {
        limitToRole(ctx, client?.clientId ?? '', account);
        return firstParty.grantOfDevice(ctx, client?.clientId ?? '', account);
      }
      // oidc-provider checks it when a request comes, and not again when the person has signed in.
      if (!client?.redirectUriAllowed(String(params?.redirect_uri))) throw new errors.InvalidRedirectUri();
      const { clientId } = client;
      // Only now is the person known.
      limitToRole(ctx, clientId, account);
      const id = result?.consent?.grantId ?? session?.grantIdFor(clientId);
      const grant = id === undefined ? undefined : await provider.Grant.find(id);
      // Those of our own pages, which nobody was asked for, are for any.
      const isAllowed = (it: Grant) =>
        // A shared grant would keep applications signed in that the person has not allowed to stay.
        hasOfflineAccess(it.getOIDCScope()) === hasOfflineAccess(params?.scope) &&
        isOfConsentEpoch(it, consentEpochOf(client)) &&
        (isFirstParty(clientId) || isForRedirectUri(it, params?.redirect_uri));
      if (grant !== undefined && isCurrent(grant, account) && isAllowed(grant)) {
        await limitToSentences(ctx, grant);
        // Whatever its age, it must outlive what is issued now.
        if (grant.remainingTTL < seconds - DAY / 2) await store.extend('Grant', grant.jti, seconds);
        return grant;
      }
      return isFirstParty(clientId) ? firstParty.grant(ctx, clientId, account) : undefined;
    },

    /**
     * A public client's refresh token works once (RFC 9700 §2.2.2); a confidential client's is extended when it is used, and
     * with it the grant. Returns whether the token is replaced.
     */
    async rotateRefreshToken({ oidc }: KoaContextWithOIDC): Promise<boolean> {
      const { RefreshToken: token, Client: client, Grant: grant } = oidc.entities;
      if (token === undefined || client?.clientAuthMethod === 'none') return true;
      if (token.remainingTTL > refreshTokenSeconds * EXTENDED_BELOW) return false;
      await store.extend('RefreshToken', token.jti, refreshTokenSeconds);
      if (grant !== undefined) await store.extend('Grant', grant.jti, seconds);
      return false;
    },
  };
}
