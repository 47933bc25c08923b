import { newId } from '@gatehouse/core/ids';
import { createLocalEvents } from '@gatehouse/events/local-events';
import { startTestService } from '@gatehouse/testing/test-service';
import type { NotificationsConfig } from '../../src/config.ts';
import { createNotificationsService } from '../../src/service.ts';

export type EventBody = { id: string; type: string; timestamp: string; data: Record<string, unknown> };
export type Body = EventBody & { error: string; links: { next?: string }; data: EventBody[] };

export const ANN = 'usr_06f2k1c8w0h3v5n7q9t1x3z5b7';
export const BOB = 'usr_06f2k1c8w0h3v5n7q9t1x3z5b8';

/** The notifications service, and what others publish to it within its process. */
export async function build(
  t: { teardown(fn: () => unknown): void },
  more: Partial<NotificationsConfig> = {},
) {
  const events = createLocalEvents();
  const built = await startTestService<Body>(t, 'notifications', (config, logger, { broadcast }) =>
    createNotificationsService(
      {
        ...config,
        usersUrl: config.ownUrl,
        commerceUrl: config.ownUrl,
        notificationsUrl: config.ownUrl,
        sending: { providers: {}, slots: 1 },
        ...more,
      },
      logger,
      { broadcast, events: { publish: async () => {}, subscribe: events.subscribe } },
    ),
  );
  const publish = (subject: string, data: Record<string, unknown>, id = newId('evt')) =>
    events.publish({ id, subject, at: new Date(), data });
  const order = (id: string, userId: string, more: Record<string, unknown> = {}) => ({
    ...{ id, user_id: userId, status: 'pending', total_amount: 12.5, currency: 'EUR', version: 1 },
    items: [{ product_id: 'prd_1', quantity: 2 }],
    created_at: new Date().toISOString(),
    ...more,
  });
  return { ...built, publish, order };
}
