import { plainBody } from '@gatehouse/api/http/error-bodies';
import { callerOf } from '@gatehouse/api/resource/authenticate';
import { mountEndpoints } from '@gatehouse/api/resource/mount-endpoints';
import { ServiceError } from '@gatehouse/core/errors';
import { type RequestedBy, requestInfo } from '@gatehouse/server/requests';
import { requestedBy } from '@gatehouse/tokens/requested-by';
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';

const READ = ['read:all'];
export const WRITE = ['write:data'];

/** Mounts endpoints for admins, who are known before the body is read. Those that change something need WRITE. */
export function mountAdminEndpoints(
  app: FastifyInstance,
  authenticate: onRequestAsyncHookHandler,
  prefix: string,
) {
  const authenticateAdmin: onRequestAsyncHookHandler = async function (request, reply) {
    await authenticate.call(this, request, reply);
    // Before the scope: nobody else should ask for one in vain.
    if (callerOf(request).person?.role !== 'admin')
      throw new ServiceError('forbidden', 'This is for admins.');
  };
  return mountEndpoints(app, authenticateAdmin, { prefix, errors: { body: plainBody }, scopes: READ });
}

/** The admin who asks for something, for the audit log. */
export function operatorOf(request: FastifyRequest): RequestedBy {
  return requestedBy(callerOf(request), requestInfo(request.raw));
}
