import { ServiceError } from '@gatehouse/core/errors';
import type { Caller } from '@gatehouse/tokens/caller';
import { MANAGE_APPS } from '@gatehouse/tokens/scopes';

const KINDS = '/api/v1/(?:applications|resources|trusted-issuers|identity-providers)';

/**
 * The requests that apply a configuration file, at all services. A deployer acts as its admin in these alone, whatever else admins may do.
 */
const ALLOWED: readonly (readonly [method: RegExp, path: RegExp])[] = [
  [/^GET$/, new RegExp(`^(?:/userinfo|/api/v1/auth/permissions|${KINDS}(?:/[^/]+)?|/api/v1/invitations)$`)],
  [/^GET$/, /^\/api\/v1\/applications\/[^/]+\/(?:federated-credentials|members)$/],
  [/^POST$/, new RegExp(`^${KINDS}$`)],
  [/^(?:PATCH|PUT|DELETE)$/, new RegExp(`^${KINDS}/[^/]+$`)],
  [/^POST$/, /^\/api\/v1\/applications\/[^/]+\/federated-credentials$/],
  [/^DELETE$/, /^\/api\/v1\/applications\/[^/]+\/federated-credentials\/[^/]+$/],
  [/^(?:GET|POST|PUT|DELETE)$/, /^\/api\/v1\/configuration\/lease(?:\/[^/]+)?$/],
  [/^GET$/, /^\/(?:v2\/users|v1\/users\/[^/]+)$/],
  [/^(?:GET|POST)$/, /^\/api\/v1\/webhooks$/],
  [/^(?:GET|PATCH|DELETE)$/, /^\/api\/v1\/webhooks\/[^/]+$/],
];

/**
 * Throws `forbidden` when an application that acts for an admin (RFC 8693 §4.1) makes a request that is not for a configuration file, or
 * changes itself: credentials that it made for its own use would outlive its mark.
 */
export function requireDeployerRequest({ actors, scopes }: Caller, method: string, path: string): void {
  if (actors === undefined || !scopes.has(MANAGE_APPS)) return;
  const isOwn = actors.some((id) => path.startsWith(`/api/v1/applications/${id}`));
  const isAllowed = ALLOWED.some(([methods, paths]) => methods.test(method) && paths.test(path));
  if (isAllowed && (method === 'GET' || !isOwn)) return;
  throw new ServiceError(
    'forbidden',
    'A deployer can make only the requests that apply a configuration file.',
  );
}
