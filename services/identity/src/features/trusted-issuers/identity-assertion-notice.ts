import { mail, plainName } from '../../core/accounts/mail-document.ts';
import type { Notice } from '../../core/accounts/notice.ts';
import { t } from '../../texts/texts.ts';

/** An application acts for the person for the first time, as a trusted issuer has stated. `provider` is the name of the issuer's provider for people. */
export function applicationActs(application: string, provider: string): Notice {
  const names = { application: plainName(application), provider: plainName(provider) };
  return {
    kind: 'application_acts',
    write: ({ account }) =>
      mail(t('{application} can act for you', names), [
        t(
          '{provider} has let the application “{application}” use your {product} account {username}. You were not asked, because the admins here trust it to decide.',
          { ...account, ...names },
        ),
        t('To end it, disconnect {provider} on the page “Connected accounts” of your account.', names),
      ]),
  };
}
