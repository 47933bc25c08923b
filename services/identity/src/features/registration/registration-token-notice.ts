import { mail, plainName } from '../../core/accounts/mail-document.ts';
import { type Notice, nothingToDo, revokeAllAccess } from '../../core/accounts/notice.ts';
import { t } from '../../texts/texts.ts';

/** `machines`: whether machines can register with it. */
export function registrationTokenCreated({ name, machines }: { name: string; machines: boolean }): Notice {
  return {
    ...{ kind: 'registration_token_created', isUnlimited: true },
    write({ account }) {
      const values = { ...account, token: plainName(name) };
      return mail(t('A registration token was created'), [
        machines
          ? t(
              'The registration token “{token}” was created for your {product} account {username}. Programs that register with it can act as you.',
              values,
            )
          : t(
              'The registration token “{token}” was created for your {product} account {username}. Programs that register with it become your applications.',
              values,
            ),
        nothingToDo(),
        revokeAllAccess(),
      ]);
    },
  };
}
