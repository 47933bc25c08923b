import { mail, plainName } from '../../core/accounts/mail-document.ts';
import { type Notice, nothingToDo, revokeAllAccess } from '../../core/accounts/notice.ts';
import { t } from '../../texts/texts.ts';

export function memberInvited(application: { name: string }): Notice {
  return {
    kind: 'member_invited',
    write: ({ account }) =>
      mail(t('You are invited to an application'), [
        t(
          'Somebody wants to add your {product} account {username} to the application “{application}”. Nothing changes unless you accept. The invitation is in the dashboard, on the page “Applications”.',
          { ...account, application: plainName(application.name) },
        ),
        t('If you did not expect it, decline it.'),
      ]),
  };
}

/** To the owner of the application. */
export function memberInvitationSent(application: { name: string }): Notice {
  return {
    kind: 'member_invitation_sent',
    write: ({ account }) =>
      mail(t('Somebody was invited to your application'), [
        t(
          'Somebody was invited to become a member of the application “{application}” of your {product} account {username}. The page “Members” of the application shows who.',
          { ...account, application: plainName(application.name) },
        ),
        nothingToDo(),
        revokeAllAccess(),
      ]),
  };
}

export function memberRemoved(application: { name: string }): Notice {
  return {
    kind: 'member_removed',
    write: ({ account }) =>
      mail(t('You are no longer a member of an application'), [
        t(
          'Your {product} account {username} was removed from the application “{application}”. The secrets and API keys that you made there have ended, unless its owner took them over.',
          { ...account, application: plainName(application.name) },
        ),
      ]),
  };
}

/** To the owner of the application; `by` is the id of the member. */
export function memberLeft(application: { name: string }, by: string): Notice {
  return {
    ...{ kind: 'member_left', by },
    write: ({ account, by: member }) =>
      mail(t('A member left your application'), [
        t(
          '{name} left the application “{application}” of your {product} account {username}. The secrets and API keys that this member made there have ended. The member may know others: replace them.',
          {
            ...account,
            name: plainName(member?.username ?? ''),
            application: plainName(application.name),
          },
        ),
      ]),
  };
}

/** To the owner of the application. */
export function credentialsTakenOver(application: { name: string }): Notice {
  return {
    kind: 'credentials_taken_over',
    write: ({ account }) =>
      mail(t('An admin took over credentials of your application'), [
        t(
          'An admin took over credentials that a member made in the application “{application}” of your {product} account {username}. The credentials work only while that admin has the role of an admin.',
          { ...account, application: plainName(application.name) },
        ),
        t('If you do not want that, remove these credentials on the page of the application.'),
      ]),
  };
}
