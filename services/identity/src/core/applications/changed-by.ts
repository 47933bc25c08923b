import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '@gatehouse/core/errors';
import type { ApplicationRole } from '../authority/application-role.ts';
import type { Application, ApplicationChanges } from './application.ts';

/**
 * The least role that changes each setting of an application. Only the owner changes where people are sent, how the application
 * authenticates, and what it may do.
 */
const CHANGED_BY = {
  name: 'developer',
  profiles: 'developer',
  primaryColor: 'developer',
  logoUri: 'developer',
  clientUri: 'developer',
  policyUri: 'developer',
  tosUri: 'developer',
  supportUri: 'developer',
  /** A developer may only remove scopes. */
  scopes: 'developer',
  trusted: 'owner',
  redirectUris: 'owner',
  postLogoutRedirectUris: 'owner',
  backchannelLogoutUri: 'owner',
  jwks: 'owner',
  legacyImplicit: 'owner',
  dpopBound: 'owner',
  requirePushedRequests: 'owner',
  deviceFlow: 'owner',
  requireSecondFactor: 'owner',
  idTokenAlgorithm: 'owner',
  idTokenProfileClaims: 'owner',
  securityProfile: 'owner',
  tokenExchange: 'owner',
  /** An admin, who is an owner everywhere, adds and changes them. */
  identityAssertions: 'owner',
  protected: 'owner',
} as const satisfies Record<keyof ApplicationChanges, ApplicationRole>;

/** The settings among these changes that are different, and that only the owner changes; `scopes` if some are added. */
export function settingsOfOwner(
  before: Application,
  changes: ApplicationChanges,
): (keyof ApplicationChanges)[] {
  const names = Object.keys(CHANGED_BY) as (keyof ApplicationChanges)[];
  const isChanged = (name: keyof ApplicationChanges) =>
    name in changes && !isDeepStrictEqual(before[name as keyof Application], changes[name]);
  const widens = changes.scopes?.some((scope) => !before.scopes.includes(scope)) === true;
  return names.filter((name) =>
    name === 'scopes' ? widens : CHANGED_BY[name] === 'owner' && isChanged(name),
  );
}

/** Throws `forbidden` unless a developer of the application may make these changes. Values that stay as they are do not count. */
export function requireDeveloperChanges(before: Application, changes: ApplicationChanges): void {
  if (settingsOfOwner(before, changes).length === 0) return;
  throw new ServiceError(
    'forbidden',
    'Only the owner of this application can add scopes or change its redirect and logout URIs, public keys and security settings. Your role is developer.',
  );
}
