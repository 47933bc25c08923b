import { newId } from '@gatehouse/core/ids';
import { createLocalEvents } from '@gatehouse/events/local-events';
import { minuteOf, type UsageBatch, usageSubject } from '@gatehouse/server/usage/usage-batch';
import { until } from '@gatehouse/testing/processes';
import { startTestService } from '@gatehouse/testing/test-service';
import { createNotificationsService } from '../../src/service.ts';

export type AnalyticsBody = {
  error: string;
  as_of: string | null;
  total: number | null;
  previous_total?: number | null;
  totals: Record<string, unknown>[];
  data: ({ at: string; value: number | null } & Record<string, unknown>)[];
  metrics: { name: string }[];
};

export const PATH = '/api/v1/analytics';
export const SCOPE = 'read:data';

type Counted = Partial<
  Pick<UsageBatch, 'requests' | 'counters' | 'keys' | 'service' | 'until' | 'sender' | 'id' | 'final'>
>;

/** A batch of usage as a service sends it. */
export function batchOf(counted: Counted): UsageBatch {
  const until = new Date().toISOString();
  const ids = { id: newId('bat'), sender: newId('prc') };
  return {
    ...ids,
    service: 'items',
    until,
    final: false,
    dropped: 0,
    requests: [],
    counters: [],
    keys: [],
    log: [],
    ...counted,
  };
}

/** Requests of one route and client in a minute. */
export function requestsOf(over: Partial<UsageBatch['requests'][number]> = {}) {
  const minute = minuteOf(Date.now());
  return { minute, route: 'GET /items', client: 'app_a', statuses: [1, 0, 0, 0], latency: [20, 1], ...over };
}

/** The notifications service, and what others publish to it within its process. */
export async function build(t: { teardown(fn: () => unknown): void }) {
  const events = createLocalEvents();
  const built = await startTestService<AnalyticsBody>(t, 'notifications', (config, logger, { broadcast }) =>
    createNotificationsService(
      {
        ...config,
        usersUrl: config.ownUrl,
        commerceUrl: config.ownUrl,
        notificationsUrl: config.ownUrl,
        sending: { providers: {}, slots: 1 },
      },
      logger,
      {
        broadcast,
        // What it counts of the requests of the tests themselves goes nowhere.
        events: { publish: async () => {}, subscribe: events.subscribe },
      },
    ),
  );
  const machine = await built.issuer.machine(SCOPE);
  const publish = (subject: string, data: Record<string, unknown>) =>
    events.publish({ id: newId('evt'), subject, at: new Date(), data });

  return {
    ...built,
    machine,
    publish,
    send: (batch: UsageBatch) => publish(usageSubject(batch.service), batch),
    order: (data: Record<string, unknown>, kind = 'changed') => publish(`commerce.order.${kind}`, data),
    async ask(query: string, token = machine) {
      const { status, body } = await built.call('GET', `${PATH}?${query}`, token);
      return { status, ...body };
    },
    /** Waits until every order that has arrived is counted, as usage is when it has been sent. */
    async settled() {
      const since = new Date().toISOString();
      await until(async () => {
        const { body } = await built.call('GET', `${PATH}?metric=orders`, machine);
        return (body.as_of ?? '') > since;
      }, 10_000);
    },
  };
}
