import { callerOf } from '@gatehouse/api/resource/authenticate';
import { ServiceError } from '@gatehouse/core/errors';
import { type RequestedBy, requestInfo } from '@gatehouse/server/requests';
import { requireScope } from '@gatehouse/tokens/caller';
import { requestedBy } from '@gatehouse/tokens/requested-by';
import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify';

export const READ = ['read:all'];
export const WRITE = ['write:data'];

/** The hooks of routes for admins, which run before the body is read. */
export function adminHooks(authenticate: onRequestAsyncHookHandler, scopes: readonly string[]) {
  return {
    onRequest: [
      authenticate,
      async (request: FastifyRequest) => {
        const caller = callerOf(request);
        // Before the scope: nobody else should ask for one in vain.
        if (caller.person?.role !== 'admin') throw new ServiceError('forbidden', 'This is for admins.');
        requireScope(caller, scopes);
      },
    ],
  };
}

/** The admin who asks for something, for the audit log. */
export function operatorOf(request: FastifyRequest): RequestedBy {
  return requestedBy(callerOf(request), requestInfo(request.raw));
}
