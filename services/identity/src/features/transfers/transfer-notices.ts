import { mail, plainName, sentences } from '../../core/accounts/mail-document.ts';
import { askForNewPassword, type Notice } from '../../core/accounts/notice.ts';
import { t } from '../../texts/texts.ts';

export function applicationGiven(application: { name: string }): Notice {
  return {
    kind: 'application_given',
    write: ({ account }) =>
      mail(t('Your application has a new owner'), [
        t(
          'The application “{application}” of your {product} account {username} has a new owner. You can no longer manage it, and its secrets and API keys no longer work.',
          { ...account, application: plainName(application.name) },
        ),
        t('If you transferred it, or an admin told you about it, you need not do anything.'),
        sentences(
          t('If not, somebody else may be in your account.'),
          askForNewPassword(),
          t('Ask an admin to transfer the application back to you.'),
        ),
      ]),
  };
}

export function applicationOffered(application: { name: string }): Notice {
  return {
    kind: 'application_offered',
    write: ({ account }) =>
      mail(t('An application is offered to you'), [
        t(
          'Somebody wants to transfer the application “{application}” to your {product} account {username}. Nothing changes unless you accept.',
          { ...account, application: plainName(application.name) },
        ),
        t(
          'To see its permissions, and to accept or decline it, sign in to the dashboard and open the page “Applications”. The offer expires after 7 days.',
        ),
        t('If you did not expect it, decline it.'),
      ]),
  };
}
