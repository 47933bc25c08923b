import { hash, randomBytes } from 'node:crypto';
import { invalidFields } from '@gatehouse/api/http/schema';
import { created, done, listOf, ok, shape } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import { loginKey } from '@gatehouse/domain/folded-key';
import { hasInvisibleCharacters } from '@gatehouse/domain/invisible-characters';
import type { Caller } from '@gatehouse/tokens/caller';
import { ROLES } from '@gatehouse/tokens/scopes';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { Accounts } from '../../core/accounts/account.ts';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import { MEMBER_ROLES } from '../../core/applications/member.ts';
import { type Audit, originOf } from '../../core/audit/audit.ts';
import type { Authority } from '../../core/authority/authority.ts';
import type { Api } from '../../http/api.ts';
import { requireFirstPartyAdmin } from '../../http/first-party.ts';
import { personApi } from '../../http/person-api.ts';
import { INVITATION_DAYS, type Invitation, type InvitationStore, MAX_INVITATIONS } from './invitation.ts';
import type { MembershipOffers } from './membership-offers.ts';

const PREFIX = '/api/v1/invitations';
/** The page that an invitation leads to. */
export const INVITATION_PAGE = '/account/invitation';
/** A rough pattern of an address; users decides in the end. */
const ADDRESS = '^[^@\\s]{1,64}@[^@\\s]{1,189}$';

const Role = Type.Unsafe<(typeof ROLES)[number]>({ type: 'string', enum: [...ROLES] });
const Membership = Type.Object({
  client_id: Type.String(),
  role: Type.Unsafe<(typeof MEMBER_ROLES)[number]>({ type: 'string', enum: [...MEMBER_ROLES] }),
});
const Time = Type.String({ format: 'date-time' });
const invitationShape = shape(
  'Invitation',
  Type.Object({
    id: Type.String(),
    email: Type.String(),
    invited_by: Type.String({ description: 'The id of the admin.' }),
    role: Role,
    application: Type.Union([Membership, Type.Null()], {
      description: 'The membership that begins with the account; null for none, and once it has ended.',
    }),
    created_at: Time,
    expires_at: Time,
  }),
  {
    id: 'inv_01m7g9w2k0000c4v8x3r6t5n1z',
    email: 'ada@example.com',
    invited_by: 'usr_01m7g9v7d0000a3b9e5k2m8p4q',
    role: 'user',
    application: { client_id: 'app_01m7g9w2k0000c4v8x3r6t5n1z', role: 'developer' },
    created_at: '2026-11-02T09:30:00.000Z',
    expires_at: '2026-11-09T09:30:00.000Z',
  },
);

export const hashOfToken = (token: string) => hash('sha256', token, 'base64url');

/** Whether the admin who sent an invitation could still send it. */
export async function isGiven(
  { given, invitedBy }: Invitation,
  authority: Pick<Authority, 'giverOf'>,
): Promise<boolean> {
  return (await authority.giverOf('invitation', given ?? { by: invitedBy, epoch: 0 })) !== undefined;
}

/** /api/v1/invitations, for admins. Errors are thrown. */
export function invitationRoutes(options: {
  issuer: string;
  store: InvitationStore;
  offers: MembershipOffers;
  accounts: Pick<Accounts, 'lookUp' | 'find'>;
  mails: Pick<AccountMails, 'sendInvitation'>;
  audit: Audit;
  authority: Authority;
  authenticate(ctx: Context): Promise<Caller>;
}): Api {
  const { issuer, store, offers, accounts, mails, audit, authority } = options;
  const api = personApi(PREFIX, options.authenticate, 'Invitations', requireFirstPartyAdmin);

  async function view({ id, email, invitedBy, role, membership, createdAt, expiresAt }: Invitation) {
    const isOpen = (await offers.applicationOf(membership)) !== undefined;
    return {
      ...{ id, email, invited_by: invitedBy, role },
      application: isOpen && membership ? { client_id: membership.clientId, role: membership.role } : null,
      ...{ created_at: createdAt, expires_at: expiresAt },
    };
  }

  /** Those that can still be accepted. Ended ones do not count towards MAX_INVITATIONS: nobody could see and revoke them. */
  async function waiting(): Promise<Invitation[]> {
    const found: Invitation[] = [];
    // One after the other, so that an admin who sent many is looked up once.
    for (const it of await store.list()) {
      if (await isGiven(it, authority)) found.push(it);
      else await store.remove(it.id);
    }
    return found;
  }

  api.post('create', '/', {
    summary: 'Invite somebody',
    description:
      `A mail leads them to a page on which they create their account, also where people cannot create accounts for themselves. ` +
      `The invitation can be accepted for ${INVITATION_DAYS} days; another one to the same address replaces it. ` +
      'The account has the `role`, and is a member of the `application`. Both end with the invitation; the membership also when the application has another owner.',
    body: shape(
      'NewInvitation',
      Type.Object({
        email: Type.String({ pattern: ADDRESS }),
        role: Type.Optional(Role),
        application: Type.Optional(Membership),
      }),
      {
        ...{ email: 'ada@example.com', role: 'editor' },
        application: { client_id: 'app_01m7g9w2k0000c4v8x3r6t5n1z', role: 'developer' },
      },
    ),
    responses: created('The invitation is on its way.', invitationShape),
    kinds: ['conflict'],
    async handle({ ctx, caller, person, body: { email, role = 'user', application } }) {
      if (hasInvisibleCharacters(email)) {
        throw invalidFields([{ field: 'email', message: 'must not contain invisible characters' }]);
      }
      if ((await accounts.lookUp(email)) !== undefined) {
        throw new ServiceError('conflict', 'Somebody with this address has an account.');
      }
      const giver = { id: person.id, epoch: caller.epoch.subject };
      const given = await authority.give('invitation', giver);
      const membership = application && (await offers.give(giver, application.client_id, application.role));
      const token = randomBytes(32).toString('base64url');
      const now = Date.now();
      const invitation: Invitation = {
        ...{ id: newId('inv'), email, emailKey: loginKey(email), tokenHash: hashOfToken(token) },
        ...{ invitedBy: person.id, given, role, membership },
        createdAt: new Date(now),
        expiresAt: new Date(now + INVITATION_DAYS * 86_400_000),
      };
      await waiting();
      if (!(await store.put(invitation))) {
        throw new ServiceError(
          'conflict',
          `${MAX_INVITATIONS} invitations are waiting. Revoke some of them.`,
        );
      }
      const details = { invitation: invitation.id, role, ...(application && { application }) };
      await audit.record({ action: 'invitation.created', origin: originOf(ctx), actor: person.id, details });
      const [inviter, joined] = await Promise.all([
        accounts.find(person.id),
        offers.applicationOf(membership),
      ]);
      await mails.sendInvitation(email, {
        ...{ link: `${issuer}${INVITATION_PAGE}?token=${token}`, days: INVITATION_DAYS, role },
        inviter: inviter?.name || (inviter?.username ?? person.id),
        member: joined && membership && { application: joined.name, role: membership.role },
      });
      ctx.set('location', `${PREFIX}/${invitation.id}`);
      return view(invitation);
    },
  });

  api.get('list', '/', {
    summary: 'List invitations',
    responses: ok(
      'Those that can still be accepted, the latest first.',
      listOf('Invitations', invitationShape),
    ),
    handle: async () => ({ data: await Promise.all((await waiting()).map(view)) }),
  });

  api.get('read', '/:id', {
    summary: 'Read an invitation',
    responses: ok('The invitation.', invitationShape),
    async handle({ params }) {
      const found = (await waiting()).find(({ id }) => id === params.id);
      if (found === undefined) throw new ServiceError('not_found', 'There is no such invitation.');
      return view(found);
    },
  });

  api.delete('remove', '/:id', {
    summary: 'Revoke an invitation',
    responses: done('The link in its mail no longer works.'),
    async handle({ ctx, person, params }) {
      if (!(await store.remove(params.id)))
        throw new ServiceError('not_found', 'There is no such invitation.');
      const details = { invitation: params.id };
      await audit.record({ action: 'invitation.revoked', origin: originOf(ctx), actor: person.id, details });
    },
  });
  return api;
}
