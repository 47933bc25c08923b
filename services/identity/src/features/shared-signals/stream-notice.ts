import { mail, plainName, sentences } from '../../core/accounts/mail-document.ts';
import { type Notice, nothingToDo, revokeAllAccess } from '../../core/accounts/notice.ts';
import { t } from '../../texts/texts.ts';

/** An application of the person has made or changed its event stream. `host` is where its events are sent. */
export function streamNotice(application: string, isNew: boolean, host: string | undefined): Notice {
  return {
    kind: 'event_stream',
    write({ account }) {
      const names = { ...account, application: plainName(application) };
      const about = isNew
        ? t(
            'The application “{application}” of your {product} account {username} gets security events now, about the people who use it.',
            names,
          )
        : t(
            'The security events of the application “{application}” of your {product} account {username} have another destination, or another credential.',
            names,
          );
      const destination =
        host === undefined ? [] : [t('They are sent to {host}.', { host: plainName(host) })];
      return mail(isNew ? t('An event stream was created') : t('An event stream was changed'), [
        sentences(about, ...destination),
        nothingToDo(),
        revokeAllAccess(),
      ]);
    },
  };
}
