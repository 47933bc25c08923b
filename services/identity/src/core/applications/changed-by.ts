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
  securityProfile: 'owner',
} as const satisfies Record<keyof ApplicationChanges, ApplicationRole>;

/** Throws `forbidden` unless a developer of the application may make these changes. Values that stay as they are do not count. */
export function requireDeveloperChanges(before: Application, changes: ApplicationChanges): void {
  const isChanged = (name: string) =>
    !isDeepStrictEqual(before[name as keyof Application], changes[name as keyof ApplicationChanges]);
  const fields = Object.entries(CHANGED_BY).flatMap(([name, role]) =>
    name in changes && role === 'owner' && isChanged(name) ? [name] : [],
  );
  const widens = changes.scopes?.some((scope) => !before.scopes.includes(scope)) === true;
  if (fields.length === 0 && !widens) return;
  throw new ServiceError(
    'forbidden',
    'Only the owner of this application can add scopes or change its redirect and logout URIs, public keys and security settings. Your role is developer.',
  );
}
