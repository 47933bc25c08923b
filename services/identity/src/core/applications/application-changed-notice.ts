import { t } from '../../texts/texts.ts';
import { mail, plainName } from '../accounts/mail-document.ts';
import type { Notice } from '../accounts/notice.ts';

/** To the owner: an admin changed settings that otherwise only the owner changes. */
export function applicationChanged(application: { name: string }): Notice {
  return {
    kind: 'application_changed',
    write: ({ account }) =>
      mail(t('An admin changed your application'), [
        t(
          'An admin changed settings of the application “{application}” of your {product} account {username}: where it sends people, how secure it is, or whether it is trusted. The page of the application shows them.',
          { ...account, application: plainName(application.name) },
        ),
        t('If you did not expect it, ask an admin about it.'),
      ]),
  };
}
