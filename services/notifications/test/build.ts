import type { Logger } from '@gatehouse/core/logger';
import { until } from '@gatehouse/testing/processes';
import { startTestService } from '@gatehouse/testing/test-service';
import { createUsersService } from '@gatehouse/users';
import type { NotificationsConfig } from '../src/config.ts';
import { createNotificationsService } from '../src/service.ts';

export type NotificationBody = {
  id: string;
  user_id: string;
  subject?: string;
  message: string;
  type: string;
  priority: string;
  status: string;
  reason: string | null;
  attempts: { outcome: string; error: string | null; provider_id: string | null; ended_at: string | null }[];
};

/** All that can be answered, in one: each test knows which of it is there, and asserts it. */
export type Body = NotificationBody & {
  error: { code: string; message: string; details?: { field: string; message: string }[] };
  data: (NotificationBody & { queue: string })[];
  links: { next?: string };
  meta: { total: number };
  public_key: string;
  replayed: number;
  removed: number;
  unknown: string[];
};

export const NOTIFICATIONS = '/v2/notifications';
export const ALL = 'read:data write:data read:all';
/** Users from the start: one with all addresses, and one without any. */
export const ANN = 'usr_06f2k1c8w0h3v5n7q9t1x3z5b7';
export const BOB = 'usr_06f2k1c8w0h3v5n7q9t1x3z5b8';

export const TIMES = { backoffMs: { first: 20, max: 100 }, responseTimeoutMs: 1000 };

/** The notifications service, and users beside it, with a database and an issuer of their own. */
export async function build(
  t: { teardown(fn: () => unknown): void },
  sending: Partial<NotificationsConfig['sending']> = {},
  more: {
    usersUrl?: string;
    logger?: Logger;
    natsUrl?: string;
    webhooks?: NotificationsConfig['webhooks'];
  } = {},
) {
  const service = await startTestService<Body>(t, 'notifications', (config, logger, dependencies) => [
    createUsersService(
      {
        ...config,
        hashConcurrency: 1,
        hashMemoryKiB: 64,
        firstUsers: [
          {
            id: ANN,
            username: 'ann',
            email: 'ann@example.org',
            password: 'correct horse battery',
          },
          { id: BOB, username: 'bob' },
        ],
      },
      logger,
      dependencies,
    ),
    createNotificationsService(
      {
        ...config,
        ...(more.natsUrl === undefined ? {} : { natsUrl: more.natsUrl }),
        commerceUrl: config.ownUrl,
        notificationsUrl: config.ownUrl,
        usersUrl: more.usersUrl ?? config.ownUrl,
        sending: { providers: {}, slots: 4, ...TIMES, ...sending },
        ...(more.webhooks === undefined ? {} : { webhooks: more.webhooks }),
      },
      more.logger ?? logger,
      more.natsUrl === undefined ? dependencies : {},
    ),
  ]);
  const { call, issuer } = service;
  const machine = await issuer.machine(ALL);
  // People enter their number on the pages of identity.
  await call('PATCH', `/internal/users/accounts/${ANN}`, await issuer.internal('identity', 'users'), {
    phone: '+49 30 1234567',
  });

  /** Sends a notification; returns its id. */
  async function notify(more: Partial<NotificationBody> = {}): Promise<string> {
    const body = { user_id: ANN, message: 'Your order has been shipped.', type: 'email', ...more };
    const { status, body: created, text } = await call('POST', NOTIFICATIONS, machine, body);
    if (status !== 202) throw new Error(`${status} ${text}`);
    return created.id;
  }

  const read = async (id: string) => (await call('GET', `${NOTIFICATIONS}/${id}`, machine)).body;

  /** The notification once it has one of these statuses. */
  async function ended(id: string, statuses = ['sent', 'failed', 'cancelled'], limitMs = 10_000) {
    let found = await read(id);
    await until(async () => {
      found = await read(id);
      return statuses.includes(found.status);
    }, limitMs);
    return found;
  }
  return { ...service, machine, notify, read, ended };
}
