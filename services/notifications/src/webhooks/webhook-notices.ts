import { ServiceError } from '@gatehouse/core/errors';
import { derivedId } from '@gatehouse/core/ids';
import type { NotificationService } from '../notifications/notification-service.ts';
import { type PauseReason, personOf, type Webhook, type WebhookAction } from './webhook.ts';

const WORKING = 'When the endpoint works again, resume the webhook in the dashboard, and';
const YOURS =
  'If the webhook is yours, resume it in the dashboard, which makes it rest on you as you are signed in now, and';
const WHY: Record<PauseReason, readonly [why: string, then: string]> = {
  failing: ['No event could be delivered to it for three days.', WORKING],
  gone: ['It answered with the status 410, which says that it wants no more events.', WORKING],
  owner: ['It was asked for.', WORKING],
  backlog: [
    'Too many deliveries of your webhooks were pending, and it had the most. They are listed as skipped.',
    WORKING,
  ],
  recovery: ['Your account was recovered, or all of its credentials were ended, since it was made.', YOURS],
  credential: [
    'The API key or client secret with which it was made has ended, or counts as somebody else’s.',
    YOURS,
  ],
};

/** The mails about a webhook, to the person to whom it belongs; to nobody, when that is an application without an owner. */
export function createWebhookNotices(create: NotificationService['create']) {
  async function send(about: string, to: string | undefined, subject: string, text: readonly string[]) {
    if (to === undefined) return;
    const notification = {
      id: derivedId('ntf', about),
      userId: to,
      type: 'email',
      priority: 'normal',
      subject,
      message: text.join('\n\n'),
    } as const;
    await create(notification, { person: undefined, clientId: 'webhooks', isGatehouse: true }).catch(
      (error: unknown) => {
        // It was sent before, or there is no mail server.
        if (error instanceof ServiceError && ['conflict', 'invalid'].includes(error.kind)) return;
        throw error;
      },
    );
  }

  return {
    /** Sent once for each time that a webhook is paused. */
    async paused(webhook: Webhook, reason: PauseReason): Promise<void> {
      const { id, url, version } = webhook;
      const [why, then] = WHY[reason];
      await send(`${id} ${version}`, personOf(webhook), 'Your webhook was paused', [
        `Your webhook ${id} for ${url} was paused.`,
        why,
        `${then} replay the events since. They are kept for 30 days.`,
      ]);
    },
    /** Sent once for each time that a webhook is made, or somebody else becomes its giver. */
    async reported(id: string, { action, details, subject }: WebhookAction): Promise<void> {
      // Of a pause there was a mail already.
      if (action === 'webhook.removed' || action === 'webhook.paused') return;
      const { webhook, host } = details;
      const isNew = action === 'webhook.created';
      const about = isNew ? `${webhook} created` : `${webhook} ${id}`;
      await send(about, subject, isNew ? 'A webhook was created' : 'A webhook was changed', [
        isNew
          ? `A webhook for ${host} was created in your account. Events that you or your applications may read are sent there.`
          : `The webhook ${webhook} in your account was resumed, or has another URL, other events or a new secret. Its events are sent to ${host}.`,
        'If it was you, or a developer of your application, you need not do anything.',
        'Otherwise somebody else has a credential of yours. Remove the webhook in the dashboard, on the page “Webhooks”. Then change your password, and end all secrets and API keys of your applications.',
      ]);
    },
  };
}
