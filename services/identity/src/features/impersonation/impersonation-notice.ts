import {
  type Mail,
  mail,
  type Occasion,
  occasion,
  plainName,
  plainSentence,
} from '../../core/accounts/mail-document.ts';
import type { Notice } from '../../core/accounts/notice.ts';
import { t } from '../../texts/texts.ts';

/** To the person as whom an admin acts; `by` is the id of the admin, and `reason` what the admin gave. */
export function accountImpersonated(by: string, reason: string, when: Occasion): Notice {
  return {
    ...{ kind: 'account_impersonated', isUnlimited: true, by },
    write: ({ account, by: admin }): Mail =>
      mail(t('An admin acts in your account'), [
        t(
          'The admin {name} can use your {product} account {username} for 15 minutes, since {when}. Your password and the ways in which you sign in stay as they are.',
          { ...account, name: plainName(admin?.username ?? by), when: occasion(when) },
        ),
        t('The reason that the admin gave: “{reason}”', { reason: plainSentence(reason) }),
        t('If you did not expect it, ask an admin about it.'),
      ]),
  };
}
