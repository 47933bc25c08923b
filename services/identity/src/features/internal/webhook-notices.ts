import { mail, type Paragraph, plainName, sentences } from '../../core/accounts/mail-document.ts';
import { type Notice, type NoticeReader, nothingToDo, revokeAllAccess } from '../../core/accounts/notice.ts';
import { t } from '../../texts/texts.ts';

/** A change of a webhook, as the notifications service reports it. */
export type WebhookAction = {
  action: string;
  /** `host`, `reason` and `given_by`, as far as the action has them. */
  details: Readonly<Record<string, unknown>>;
  by: { user_id: string | null };
  /** The person to whom the webhook belongs. */
  subject?: string;
};

/** The mail to the person to whom a webhook belongs; undefined for an action that causes none. */
export function webhookNotice({ action, details, by, subject }: WebhookAction): Notice | undefined {
  const host = plainName(String(details.host));
  if (action === 'webhook.created' || action === 'webhook.changed') {
    // A credential of a member acts as the owner.
    const maker = String(details.given_by ?? by.user_id ?? subject);
    const other = maker === subject ? undefined : maker;
    return { kind: 'webhook', by: other, write: (reader) => changed(action, host, reader) };
  }
  const why = action === 'webhook.paused' ? PAUSED[String(details.reason)] : undefined;
  return why && { kind: 'webhook_paused', write: (reader) => paused(why(), host, reader) };
}

function changed(action: string, host: string, { account, by }: NoticeReader) {
  const isNew = action === 'webhook.created';
  return mail(isNew ? t('A webhook was created') : t('A webhook was changed'), [
    isNew
      ? t(
          'A webhook for {host} was created in your {product} account {username}. It gets the events that you or your applications may read.',
          { host, ...account },
        )
      : t(
          'The webhook for {host} in your {product} account {username} was resumed, or has another URL, other events or a new secret.',
          { host, ...account },
        ),
    ...(by === undefined
      ? [nothingToDo(), revokeAllAccess()]
      : [
          sentences(
            t('This was done by {name}.', { name: plainName(by.username) }),
            t('If you did not expect it, remove it in the dashboard.'),
          ),
        ]),
  ]);
}

function paused(why: readonly [reason: string, next: string], host: string, { account }: NoticeReader) {
  return mail(t('Your webhook was paused'), [
    t('The webhook for {host} in your {product} account {username} was paused, and gets no more events.', {
      host,
      ...account,
    }),
    ...why,
    t('Then replay the events since. They are kept for 30 days.'),
  ] satisfies Paragraph[]);
}

const whenItWorks = () => t('When the endpoint works again, resume the webhook in the dashboard.');
const ifItIsYours = () => t('If the webhook is yours, resume it in the dashboard.');
const PAUSED: Readonly<Record<string, () => readonly [reason: string, next: string]>> = {
  failing: () => [t('No event could be delivered to it for three days.'), whenItWorks()],
  gone: () => [t('Its endpoint responded with the status 410: it is gone.'), whenItWorks()],
  backlog: () => [
    t('Too many deliveries of your webhooks were pending, and this webhook had the most.'),
    whenItWorks(),
  ],
  recovery: () => [
    t('Your account was recovered, or all of its credentials were ended, after the webhook was made.'),
    ifItIsYours(),
  ],
  credential: () => [t('The credential with which it was made has ended.'), ifItIsYours()],
};
