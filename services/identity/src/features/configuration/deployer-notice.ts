import { mail, plainName } from '../../core/accounts/mail-document.ts';
import { type Notice, nothingToDo, revokeAllAccess } from '../../core/accounts/notice.ts';
import { t } from '../../texts/texts.ts';

/** The mail to an admin who has marked an application as a deployer. */
export function deployerMarked({ name }: { name: string }): Notice {
  return {
    ...{ kind: 'deployer_marked', isUnlimited: true },
    write: ({ account }) =>
      mail(t('An application can apply configurations in your name'), [
        t(
          'The application “{application}” can now apply configuration files in the name of your {product} account {username}: it can change all applications, APIs, trusted issuers and identity providers.',
          { ...account, application: plainName(name) },
        ),
        nothingToDo(),
        revokeAllAccess(),
      ]),
  };
}
