import { done, listOf, ok, shape } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { Accounts } from '../../core/accounts/account.ts';
import { originOf } from '../../core/audit/audit.ts';
import type { AuthorizedApplications } from '../../core/oidc/authorized-applications.ts';
import type { Api } from '../../http/api.ts';
import { personApi, userParameter } from '../../http/person-api.ts';

const consentShape = shape(
  'Consent',
  Type.Object({
    client_id: Type.String(),
    name: Type.String({ description: 'The name of the application.' }),
    hosts: Type.Array(Type.String(), { description: 'Of the redirect URIs that codes or tokens went to.' }),
    scopes: Type.Array(Type.String(), { description: 'The scopes that the person has allowed.' }),
    allowed_since: Type.String({ format: 'date-time' }),
  }),
  {
    client_id: 'app_01m7g9w2k0000c4v8x3r6t5n1z',
    name: 'Tea shop',
    hosts: ['shop.example.org'],
    scopes: ['openid', 'profile'],
    allowed_since: '2026-11-02T09:30:00.000Z',
  },
);

/**
 * /api/v1/consents: the applications that a person has allowed to use their account. People see and end their own; admins those
 * of others, named by `user_id`. Errors are thrown.
 */
export function consentRoutes(options: {
  authenticate(ctx: Context): Promise<Caller>;
  accounts: Pick<Accounts, 'find'>;
  authorizedApplications: AuthorizedApplications;
}): Api {
  const { authorizedApplications } = options;
  const api = personApi('/api/v1/consents', options.authenticate, 'Consents');
  const user = userParameter(options.accounts, {
    description:
      'The user whose consents these are; by default the caller. Only admins may name another user.',
    forbidden: 'Only an admin may see and end the consents of others.',
  });

  api.get('list', '/', {
    summary: 'List the applications that a person has allowed',
    description: 'Those that may use the account, in the order of their names.',
    query: user.query,
    responses: ok('The applications and what they may do.', listOf('Consents', consentShape)),
    kinds: ['not_found'],
    async handle({ person, query }) {
      const { id } = await user.accountOf(person, query);
      const list = await authorizedApplications.list(id);
      return {
        data: list.map(({ clientId, name, hosts, scopes, since }) => ({
          ...{ client_id: clientId, name, hosts, scopes },
          allowed_since: since,
        })),
      };
    },
  });

  api.delete('remove', '/:client_id', {
    summary: 'End the access of an application to an account',
    description:
      'Its tokens for the account stop working, and the person is asked again at the next sign-in. A client_id that is a URL is percent-encoded.',
    query: user.query,
    responses: done('The application has no access.'),
    async handle({ ctx, caller, person, query, params }) {
      const { id } = await user.accountOf(person, query);
      const isRevoked = await authorizedApplications.revoke(id, params.client_id, {
        ...{ origin: originOf(ctx), actor: person.id, details: { by: caller.clientId } },
      });
      if (!isRevoked)
        throw new ServiceError('not_found', 'The user has not allowed this application anything.');
    },
  });
  return api;
}
