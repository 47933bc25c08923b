import { ServiceError } from '@gatehouse/core/errors';
import { mayCall } from '@gatehouse/core/services';
import { type Caller, requireScope } from './caller.ts';
import { INTERNAL_SCOPE } from './scopes.ts';

/**
 * Throws `forbidden` unless the caller is a service that may call this internal route (see SERVICES in core). The
 * caller's token must have been verified for the internal audience of the service that has the route.
 */
export function requireInternalAccess(caller: Caller, route: string): void {
  requireScope(caller, [INTERNAL_SCOPE]);
  if (!mayCall(caller.clientId, route)) {
    throw new ServiceError('forbidden', `The client ${caller.clientId} is not permitted to do this.`);
  }
}
