import type { ConcurrencyLimit } from '@gatehouse/api/http/concurrency-limit';
import { createListEndpoint } from '@gatehouse/api/lists/list-endpoint';
import { cursorEnvelope } from '@gatehouse/api/lists/paging';
import { done, shape } from '@gatehouse/api/openapi/shapes';
import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { Api } from '../../http/api.ts';
import { APPLICATIONS, createManagerApi } from '../applications/managers.ts';
import type { ApplicationUser, ApplicationUsers } from './application-users.ts';

const OrNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description });
const Time = Type.String({ format: 'date-time' });
const View = Type.Object({
  user_id: Type.String({ description: 'The `sub` of their tokens.' }),
  name: OrNull('Null unless they have allowed `profile` or `read:profile`.'),
  email: OrNull('Null unless they have allowed `email`.'),
  scopes: Type.Array(Type.String(), { description: 'The scopes that they have allowed.' }),
  allowed_since: Time,
  last_allowed_at: Time,
});

const userShape = shape('ApplicationUser', View, {
  user_id: 'usr_01m7g9x1h0000d6w2y8s4v7r3t',
  name: 'Grace',
  email: null,
  scopes: ['openid', 'profile'],
  allowed_since: '2026-11-02T09:30:00.000Z',
  last_allowed_at: '2026-11-20T08:00:00.000Z',
});

const userList = createListEndpoint<'id', ApplicationUser>({
  rules: {
    path: APPLICATIONS,
    paging: 'cursor',
    order: { field: 'id', descending: false },
    filters: {},
  },
  envelope: cursorEnvelope,
  item: {
    schema: View,
    write: ({ id, name, email, scopes, since, lastAllowedAt }) =>
      JSON.stringify({
        ...{ user_id: id, name, email, scopes },
        ...{ allowed_since: since, last_allowed_at: lastAllowedAt },
      }),
  },
});

/** The people who have allowed an application to use their account. Errors are thrown. */
export function applicationUserRoutes(options: {
  users: ApplicationUsers;
  authenticate(ctx: Context): Promise<Caller>;
  concurrency: ConcurrencyLimit;
}): Api {
  const { users, concurrency } = options;
  const api = createManagerApi(APPLICATIONS, options.authenticate);

  api.list('list_users', '/:client_id/users', {
    summary: 'List the people who use an application',
    description:
      'Those who have allowed it to use their accounts, as much of them as it may read itself, in the order of their ids.',
    page: { name: 'ApplicationUserPage', description: 'A page of the list.', row: userShape },
    endpoint: userList,
    read: async ({ caller, manager }, { client_id: id = '' }) => ({
      source: await users.source(manager, id),
      path: `${APPLICATIONS}/${encodeURIComponent(id)}/users`,
      limited: (work) => concurrency.run(caller, work),
    }),
  });

  api.delete('remove_user', '/:client_id/users/:user_id', {
    summary: 'End the access of an application to an account',
    description:
      'As if the person had ended it: its tokens for the account stop working, and the person is asked again at the next sign-in.',
    responses: done('The application has no access.'),
    handle: ({ manager, params }) => users.remove(manager, params.client_id, params.user_id),
  });
  return api;
}
