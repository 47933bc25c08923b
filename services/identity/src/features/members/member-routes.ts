import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import { Type } from 'typebox';
import { MAX_MEMBERS, MEMBER_ROLES } from '../../core/applications/member.ts';
import type { Api } from '../../http/api.ts';
import { created, done, listOf, ok, shape } from '../../openapi/operations.ts';
import { APPLICATIONS, createManagerApi } from '../applications/managers.ts';
import type { Members, NamedMember } from './members.ts';

const Role = Type.Union(MEMBER_ROLES.map((role) => Type.Literal(role)));
const EXAMPLE = { user_id: 'usr_01m7g9x1h0000d6w2y8s4v7r3t', username: 'grace', role: 'developer' };

const memberShape = shape(
  'ApplicationMember',
  Type.Object({
    user_id: Type.String(),
    username: Type.Union([Type.String(), Type.Null()]),
    role: Role,
    created_at: Type.String({ format: 'date-time' }),
  }),
  { ...EXAMPLE, created_at: '2026-11-02T09:30:00.000Z' },
);

const Draft = Type.Object({
  user: Type.String({
    minLength: 1,
    maxLength: 254,
    description: 'The id, username or verified email address.',
  }),
  role: Role,
});

const view = ({ userId, username, role, createdAt }: NamedMember) => ({
  ...{ user_id: userId, username, role },
  created_at: createdAt,
});

/** The members of an application. Errors are thrown. */
export function memberRoutes(options: {
  members: Members;
  authenticate(ctx: Context): Promise<Caller>;
  requireFreshSignIn(caller: Caller): void;
}): Api {
  const { members } = options;
  const api = createManagerApi(APPLICATIONS, options.authenticate);

  api.get('list_members', '/:client_id/members', {
    summary: 'List the members of an application',
    description: `In the order in which they were added, at most ${MAX_MEMBERS}; the owner is not among them.`,
    responses: ok('The members.', listOf('ApplicationMembers', memberShape)),
    handle: async ({ manager, params }) => ({
      data: (await members.list(manager, params.client_id)).map(view),
    }),
  });

  api.post('add_member', '/:client_id/members', {
    summary: 'Add a member to an application, or change the role of one',
    description:
      'A viewer sees the application, its requests, usage and audit log. A developer also changes it, and creates and removes its credentials: ' +
      'with these, whoever has them can do what the application may do, for a machine as its owner. Only the owner deletes and transfers ' +
      'it and chooses its members.',
    body: shape('NewApplicationMember', Draft, { user: 'grace', role: 'developer' }),
    responses: created('The member.', memberShape),
    kinds: ['conflict'],
    async handle({ caller, manager, params, body }) {
      options.requireFreshSignIn(caller);
      return view(await members.add(manager, params.client_id, body.user, body.role));
    },
  });

  api.delete('remove_member', '/:client_id/members/:user_id', {
    summary: 'Remove a member from an application',
    description: 'Members may remove themselves. Credentials that they have seen stay valid: replace them.',
    responses: done('The user is no member.'),
    handle: ({ manager, params }) => members.remove(manager, params.client_id, params.user_id),
  });
  return api;
}
