import { ServiceError } from '@gatehouse/core/errors';
import { derivedId, isUserId } from '@gatehouse/core/ids';
import type { NotificationService } from '../notifications/notification-service.ts';
import type { PauseReason, Webhook } from './webhook.ts';

const WHY: Record<PauseReason, string> = {
  failing: 'No event could be delivered to it for three days.',
  gone: 'It answered with the status 410, which says that it wants no more events.',
  owner: 'It was asked for.',
};

/** Tells the owner of a webhook by mail that it is paused, once for each time; nobody, when that is an application. */
export function createPauseNotice(create: NotificationService['create']) {
  return async ({ id, owner, url, version }: Webhook, why: PauseReason): Promise<void> => {
    if (!isUserId(owner)) return;
    const message = [
      `Your webhook ${id} for ${url} was paused.`,
      WHY[why],
      'When the endpoint works again, resume the webhook in the dashboard, and replay the events since. They are kept for 30 days.',
    ].join('\n\n');
    const notification = {
      id: derivedId('ntf', `${id} ${version}`),
      userId: owner,
      type: 'email',
      priority: 'normal',
      subject: 'Your webhook was paused',
      message,
    } as const;
    await create(notification, { person: undefined, clientId: 'webhooks' }).catch((error: unknown) => {
      // It was sent before, or there is no mail server.
      if (error instanceof ServiceError && ['conflict', 'invalid'].includes(error.kind)) return;
      throw error;
    });
  };
}
