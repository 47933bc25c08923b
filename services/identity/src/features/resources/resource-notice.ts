import { mail, plainName } from '../../core/accounts/mail-document.ts';
import type { Notice } from '../../core/accounts/notice.ts';
import { t } from '../../texts/texts.ts';

/** Somebody else proved that the URL of the resource is theirs. */
export function resourceReplaced(resource: string): Notice {
  return {
    kind: 'resource_replaced',
    write: ({ account }) =>
      mail(t('Your API was registered by somebody else'), [
        t(
          'The server of the API “{resource}” of your {product} account {username} names another owner, who has registered it. Your registration was deleted, and applications no longer get tokens for it.',
          { ...account, resource: plainName(resource) },
        ),
        t('If the server is yours, somebody else can change what it responds with.'),
      ]),
  };
}
