import { plainBody } from '@gatehouse/api/http/error-bodies';
import { documented, type Operation } from '@gatehouse/api/openapi/operation';
import { callerOf } from '@gatehouse/api/resource/authenticate';
import { send } from '@gatehouse/api/resource/json-response';
import type { MountOptions } from '@gatehouse/api/resource/mount-resource';
import type { ErrorKind } from '@gatehouse/core/errors';
import { requireScope } from '@gatehouse/tokens/caller';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { WEBHOOKS } from './webhook-resource.ts';

/** The path of a webhook. */
export const WEBHOOK = `${WEBHOOKS}/:id`;

/** Returns a function that makes the options of a route about a webhook: its operation, and the scopes that it needs. */
export const webhookRoute =
  (authenticate: MountOptions['authenticate']) =>
  (
    operationId: string,
    scopes: string[],
    about: Pick<Operation, 'summary' | 'description' | 'responses' | 'body' | 'query'> & {
      kinds?: ErrorKind[];
    },
  ) => {
    const { kinds = [], ...operation } = about;
    return {
      config: { errorBody: plainBody },
      schema: documented({
        ...operation,
        ...{ operationId, scopes, tag: WEBHOOKS },
        errors: { body: plainBody, kinds: ['not_found', ...kinds] },
      }),
      onRequest: [authenticate, async (request: FastifyRequest) => requireScope(callerOf(request), scopes)],
    };
  };

/** Sends a response that nobody may store. */
export const sendFresh = (
  to: FastifyReply,
  text: string,
  status = 200,
  headers: Record<string, string> = {},
) => send(to, { status, headers: { ...headers, 'cache-control': 'no-store' }, text });
