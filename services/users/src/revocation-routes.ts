import { plainBody } from '@gatehouse/api/http/error-bodies';
import { done, shape } from '@gatehouse/api/openapi/shapes';
import { mountEndpoints } from '@gatehouse/api/resource/mount-endpoints';
import { ServiceError, unavailable } from '@gatehouse/core/errors';
import { requestInfo } from '@gatehouse/server/requests';
import { isFirstParty } from '@gatehouse/tokens/caller';
import type { InternalClient } from '@gatehouse/tokens/internal-client';
import { requestedBy } from '@gatehouse/tokens/requested-by';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { Type } from 'typebox';
import { authorizeRevocation, isOwn } from './user-access.ts';
import type { UserService } from './user-service.ts';

const PREFIX = '/api/v1/users';
const Revocation = Type.Object(
  {
    except: Type.Optional(
      Type.Array(Type.String({ maxLength: 254 }), {
        maxItems: 500,
        description:
          'The ids of what is kept, from GET /api/v1/access. A credential that a member made is kept with the member, or not at all.',
      }),
    ),
  },
  { additionalProperties: false },
);

/** POST /api/v1/users/{id}/revocations: ends everything that acts for a person. `identity` is a client of its internal routes. */
export function mountRevocationRoutes(
  app: FastifyInstance,
  options: {
    users: UserService;
    identity: Pick<InternalClient, 'request'>;
    authenticate: onRequestAsyncHookHandler;
  },
): void {
  const { users, identity, authenticate } = options;
  const errors = { body: plainBody };
  const api = mountEndpoints(app, authenticate, { prefix: PREFIX, errors, scopes: ['write:users'] });
  api.post('revoke', '/:id/revocations', {
    operationId: 'revoke_access',
    summary: 'Revoke all access of a user',
    description:
      'Ends the sessions, logins, tokens and consents of the user, and everything that acts for them: client secrets, public keys, API keys and ' +
      'members of their applications, registration tokens, links, invitations and offers. Pauses their webhooks. Ways to sign in stay. ' +
      'For admins, and for people themselves with a login or in the dashboard.',
    body: shape('AccessRevocation', Revocation, { except: [] }),
    isBodyOptional: true,
    responses: done('The access has been revoked.'),
    kinds: ['invalid', 'unavailable'],
    admit({ caller, params }) {
      if (!(isOwn(caller, params.id) && isFirstParty(caller))) authorizeRevocation(caller);
    },
    async handle({ caller, request, params, body: { except = [] } }) {
      const { id: userId } = await users.read(params.id);
      if (except.length > 0) await keep(userId, except);
      const by = requestedBy(caller, requestInfo(request.raw));
      await users.revoke(userId, { everything: true, kept: except, by });
    },
  });

  /** Stamps the kept entries before anything ends, so that they hold afterwards. */
  async function keep(userId: string, ids: readonly string[]): Promise<void> {
    const { status, body } = await identity.request('POST', '/kept-access', { user_id: userId, ids });
    if (status === 204) return;
    if (status === 400) {
      const { message } = (body as { error: { message: string } }).error;
      throw new ServiceError('invalid', `except: ${message}`);
    }
    throw unavailable(
      'The access cannot be revoked at the moment.',
      new Error(`identity responded with ${status}`),
    );
  }
}
