import { created, done, listOf, ok, shape } from '@gatehouse/api/openapi/shapes';
import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { Accounts } from '../../core/accounts/account.ts';
import { MAX_MEMBERS, MEMBER_ROLES } from '../../core/applications/member.ts';
import type { Api } from '../../http/api.ts';
import { userParameter } from '../../http/person-api.ts';
import { APPLICATIONS, createManagerApi } from '../applications/managers.ts';
import type { Members, Membership, NamedMember } from './members.ts';

const Role = Type.Union(MEMBER_ROLES.map((role) => Type.Literal(role)));
const EXAMPLE = { user_id: 'usr_01m7g9x1h0000d6w2y8s4v7r3t', username: 'grace', role: 'developer' };

const Status = Type.Union([Type.Literal('invited'), Type.Literal('accepted')]);
const Time = Type.String({ format: 'date-time' });
const memberShape = shape(
  'ApplicationMember',
  Type.Object({
    user_id: Type.String(),
    username: Type.Union([Type.String(), Type.Null()]),
    role: Role,
    status: Status,
    credentials: Type.Array(
      Type.Object({
        id: Type.String(),
        kind: Type.Union([Type.Literal('client_secret'), Type.Literal('api_key')]),
        name: Type.Union([Type.String(), Type.Null()]),
      }),
      { description: 'The credentials that the member has made. They end with the membership.' },
    ),
    created_at: Time,
  }),
  { ...EXAMPLE, status: 'accepted', credentials: [], created_at: '2026-11-02T09:30:00.000Z' },
);
const membershipShape = shape(
  'Membership',
  Type.Object({
    client_id: Type.String(),
    name: Type.String(),
    role: Role,
    status: Status,
    created_at: Time,
  }),
  {
    ...{ client_id: 'app_01m7g9w2k0000c4v8x3r6t5n1z', name: 'Lighthouse', role: 'developer' },
    ...{ status: 'invited', created_at: '2026-11-02T09:30:00.000Z' },
  },
);

const Draft = Type.Object({
  user: Type.String({
    minLength: 1,
    maxLength: 254,
    description: 'The id, username or verified email address.',
  }),
  role: Role,
  take_over: Type.Optional(
    Type.Array(Type.String({ maxLength: 254 }), {
      maxItems: 100,
      description: 'The ids of credentials of the member that the owner takes over.',
    }),
  ),
});

const statusOf = ({ isPending }: { isPending: boolean }) => (isPending ? 'invited' : 'accepted');
const view = ({ userId, username, role, credentials, createdAt, ...member }: NamedMember) => ({
  ...{ user_id: userId, username, role, status: statusOf(member), credentials },
  created_at: createdAt,
});
const membershipView = ({ clientId, name, role, createdAt, ...member }: Membership) => ({
  ...{ client_id: clientId, name, role, status: statusOf(member) },
  created_at: createdAt,
});

/** The members of an application. Errors are thrown. */
export function memberRoutes(options: {
  members: Members;
  accounts: Pick<Accounts, 'find'>;
  authenticate(ctx: Context): Promise<Caller>;
}): Api[] {
  const { members } = options;
  const api = createManagerApi(APPLICATIONS, options.authenticate);
  const own = createManagerApi('/api/v1/memberships', options.authenticate);
  const user = userParameter(options.accounts, {
    description:
      'The user whose memberships these are; by default the caller. Only admins may name another user.',
    forbidden: 'Only an admin may see the memberships of others.',
  });

  api.get('list_members', '/:client_id/members', {
    summary: 'List the members of an application',
    description: `In the order in which they were added, at most ${MAX_MEMBERS}; the owner is not among them.`,
    responses: ok('The members.', listOf('ApplicationMembers', memberShape)),
    handle: async ({ manager, params }) => ({
      data: (await members.list(manager, params.client_id)).map(view),
    }),
  });

  api.post('add_member', '/:client_id/members', {
    summary: 'Invite a member to an application, or change the role of one',
    description:
      'The person gets a mail, and is a member once they accept. A viewer sees the application, its requests, usage and audit log. A developer ' +
      'also changes its name and look, and creates and removes credentials within its present scopes. These never do more than the ' +
      'role of the developer allows. They end when the developer becomes a viewer, except those that the owner takes over. Only the owner adds scopes, changes URIs, keys and security settings, deletes and transfers it, ' +
      'and chooses its members.',
    body: shape('NewApplicationMember', Draft, { user: 'grace', role: 'developer' }),
    responses: created('The member.', memberShape),
    kinds: ['conflict'],
    async handle({ ctx, manager, params, body }) {
      const member = await members.add(manager, params.client_id, {
        ...{ user: body.user, role: body.role, takenOver: body.take_over ?? [] },
      });
      ctx.set('location', `${APPLICATIONS}/${params.client_id}/members/${member.userId}`);
      return view(member);
    },
  });

  api.delete('remove_member', '/:client_id/members/:user_id', {
    summary: 'Remove a member from an application',
    description:
      'Members may remove themselves. The credentials that the member has made end, except those that the owner takes over. Credentials of ' +
      'others that they have seen stay valid: replace them.',
    query: Type.Object({
      take_over: Type.Optional(
        Type.String({
          description: 'The ids of credentials that the owner takes over, separated by commas.',
        }),
      ),
    }),
    responses: done('The user is no member.'),
    handle: ({ manager, params, query }) =>
      members.remove(manager, params.client_id, params.user_id, query.take_over?.split(',') ?? []),
  });

  own.get('list', '/', {
    summary: 'List your memberships',
    description:
      'Your memberships of other people’s applications, and the invitations that you have not accepted.',
    query: user.query,
    responses: ok('The memberships, the oldest first.', listOf('Memberships', membershipShape)),
    kinds: ['not_found'],
    async handle({ manager, query }) {
      const { id } = await user.accountOf(manager, query);
      return { data: (await members.ofPerson(id)).map(membershipView) };
    },
  });

  own.post('accept', '/:client_id/accept', {
    summary: 'Accept an invitation to an application',
    description:
      'Also a membership that is one again, since you have ended all secrets and keys, all your access was revoked, or your account was deactivated.',
    responses: done('You are a member.'),
    kinds: ['conflict'],
    handle: ({ manager, params }) => members.accept(manager, params.client_id),
  });

  own.delete('remove', '/:client_id', {
    summary: 'Leave an application, or decline an invitation',
    description: 'The credentials that you have made there end.',
    responses: done('You are no longer a member.'),
    handle: ({ manager, params }) => members.remove(manager, params.client_id, manager.id, []),
  });
  return [api, own];
}
