import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import type { Account } from '../../core/accounts/account.ts';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import type { Application } from '../../core/applications/application.ts';
import type { ApplicationWrites } from '../../core/applications/application-writes.ts';
import { MAX_INVITED, type MemberRole, type MemberStore } from '../../core/applications/member.ts';
import type { Audit, Origin } from '../../core/audit/audit.ts';
import type { Authenticated, Authority } from '../../core/authority/authority.ts';
import { memberInvitationSent } from '../members/member-notices.ts';
import type { Invitation } from './invitation.ts';

type Offer = NonNullable<Invitation['membership']>;

/** The memberships of applications that invitations come with. */
export function createMembershipOffers(options: {
  applicationStore: { findNow(id: string): Promise<Application | undefined> };
  applicationWrites: Pick<ApplicationWrites, 'revoke'>;
  authority: Authority;
  members: Pick<MemberStore, 'put' | 'accept'>;
  mails: Pick<AccountMails, 'notify'>;
  audit: Pick<Audit, 'record'>;
  logger: Logger;
}) {
  const { applicationStore, applicationWrites, authority, members, mails, audit, logger } = options;

  /** The application while the membership can begin; undefined once the offer has ended. */
  async function applicationOf(offer: Offer | undefined): Promise<Application | undefined> {
    const application = offer && (await applicationStore.findNow(offer.clientId));
    if (application === undefined || application.consentEpoch !== offer?.consentEpoch) return undefined;
    const giver = await authority.giverOf('invitation_membership', offer.invited, application);
    return giver && application;
  }

  return {
    applicationOf,

    /** Throws `invalid` for an unknown application. */
    async give(person: Authenticated, clientId: string, role: MemberRole): Promise<Offer> {
      const application = await applicationStore.findNow(clientId);
      if (application === undefined) {
        const message = 'must be the client ID of an application';
        throw invalidFields([{ field: 'application.client_id', message }]);
      }
      const given = await authority.give('member', person, application);
      const invited = await authority.give('invitation_membership', person, application);
      return { clientId, role, consentEpoch: application.consentEpoch, given, invited };
    },

    /** Makes the new account a member: its person has seen the offer on the page. If the application has the maximum of members, none is added. */
    async begin({ id, invitedBy, membership }: Invitation, account: Account, origin: Origin) {
      const application = await applicationOf(membership);
      if (application === undefined || membership === undefined) return;
      const { clientId, role, given, invited } = membership;
      const member = { clientId, userId: account.id, role, given, invited };
      try {
        await members.put(member, { id: invitedBy, limit: MAX_INVITED });
      } catch (error) {
        if (!(error instanceof ServiceError && error.kind === 'conflict')) throw error;
        return logger.warn({ invitation: id, client: clientId }, 'an application is full, and got no member');
      }
      await members.accept(clientId, account.id, authority.givenBy('acceptance', account));
      const details = { invitation: id, role, invited_by: invitedBy };
      await audit.record({
        action: 'member.accepted',
        client: clientId,
        origin,
        subject: account.id,
        details,
      });
      // The current epoch ends no token, but makes the other services read the rights again.
      await applicationWrites.revoke([{ application, over: false }]);
      if (application.owner !== null) void mails.notify(application.owner, memberInvitationSent(application));
    },
  };
}

export type MembershipOffers = ReturnType<typeof createMembershipOffers>;
