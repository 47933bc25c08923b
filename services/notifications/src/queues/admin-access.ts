import { plainBody } from '@gatehouse/api/http/error-bodies';
import { documented, type Operation } from '@gatehouse/api/openapi/operation';
import { callerOf } from '@gatehouse/api/resource/authenticate';
import { send } from '@gatehouse/api/resource/json-response';
import { type ErrorKind, ServiceError } from '@gatehouse/core/errors';
import { type RequestedBy, requestInfo } from '@gatehouse/server/requests';
import { requireScope } from '@gatehouse/tokens/caller';
import { requestedBy } from '@gatehouse/tokens/requested-by';
import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';

export const READ = ['read:all'];
export const WRITE = ['write:data'];

/** Returns a function that makes the options of a route for admins, who are known before the body is read. */
export function adminRoutes(tag: string, authenticate: onRequestAsyncHookHandler) {
  return (operationId: string, about: AdminOperation) => {
    const { scopes, errors = [], ...operation } = about;
    const requireAdmin = async (request: FastifyRequest) => {
      const caller = callerOf(request);
      // Before the scope: nobody else should ask for one in vain.
      if (caller.person?.role !== 'admin') throw new ServiceError('forbidden', 'This is for admins.');
      requireScope(caller, scopes);
    };
    return {
      config: { errorBody: plainBody },
      schema: documented({
        ...operation,
        operationId,
        tag,
        scopes,
        errors: { body: plainBody, kinds: errors },
      }),
      onRequest: [authenticate, requireAdmin],
    };
  };
}

type AdminOperation = Pick<Operation, 'summary' | 'description' | 'query' | 'body' | 'responses'> & {
  scopes: readonly string[];
  /** The kinds of errors beside those of every route. */
  errors?: readonly ErrorKind[];
};

/** A JSON response that nobody keeps. */
export function sendFresh(reply: FastifyReply, text: string): FastifyReply {
  return send(reply, { status: 200, headers: { 'cache-control': 'no-store' }, text });
}

/** The admin who asks for something, for the audit log. */
export function operatorOf(request: FastifyRequest): RequestedBy {
  return requestedBy(callerOf(request), requestInfo(request.raw));
}
