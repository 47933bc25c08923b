import { type Mail, mail, type Occasion, occasion, plainName } from '../../core/accounts/mail-document.ts';
import type { Notice } from '../../core/accounts/notice.ts';
import { t } from '../../texts/texts.ts';

/** To the person as whom an admin acts; `by` is the id of the admin. */
export function accountImpersonated(by: string, when: Occasion): Notice {
  return {
    ...{ kind: 'account_impersonated', by },
    write: ({ account, by: admin }): Mail =>
      mail(t('An admin acts in your account'), [
        t(
          'The admin {name} can use your {product} account {username} for 15 minutes, since {when}. Your password and the ways in which you sign in stay as they are.',
          { ...account, name: plainName(admin?.username ?? by), when: occasion(when) },
        ),
        t('If you did not expect it, ask an admin about it.'),
      ]),
  };
}
