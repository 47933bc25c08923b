import { plainBody } from '@gatehouse/api/http/error-bodies';
import type { ResourceContext, ResourceParts } from '@gatehouse/api/resource/create-resource-service';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import { createReportedActions } from '../reported-actions.ts';
import { DEAD_LETTERS_PATH, mountDeadLetters } from './dead-letter-routes.ts';
import { createLaneStore, LANES, QUEUE_ACTION } from './lane-store.ts';
import { createLanes, type Lanes } from './lanes.ts';
import { queueMetrics } from './queue-metrics.ts';
import { mountQueues, QUEUES_PATH } from './queue-routes.ts';
import { createQueueService, type QueueAdmin } from './queue-service.ts';

/** The paths of this module, with the error bodies of their routes. */
export const OPERATOR_PATHS = [QUEUES_PATH, DEAD_LETTERS_PATH].map((prefix) => ({
  prefix,
  profiles: [{ name: 'plain', about: 'for admins', errorBody: plainBody }],
}));

/** The dependencies of modules whose queues operators manage. */
export type Operating = { lanes: Pick<Lanes, 'isPaused' | 'count'> };

/**
 * How often the depth of the queues is read for /metrics. Where reading takes long, as with many jobs in MongoDB, the pause grows so that
 * it takes a tenth of the time at most.
 */
const DEPTH_EVERY_MS = 10_000;
/** For how long after a scrape the depth is read. */
const SCRAPED_MS = 180_000;

/** The administration of queues. `operate` is called when all queues are made. */
export function createQueuesModule(context: ResourceContext) {
  const actions = createReportedActions({
    ...context,
    collection: LANES,
    subject: QUEUE_ACTION,
  });
  const lanes = createLanes(createLaneStore(context.connection), {
    broadcast: context.broadcast,
    logger: context.logger,
    publish: actions.publish,
  });
  return {
    lanes,
    operate(queues: readonly QueueAdmin[]): ResourceParts {
      const service = createQueueService(queues, lanes);
      let failing = false;
      let scrapedAt = Number.NEGATIVE_INFINITY;
      const isScraped = () => performance.now() - scrapedAt < SCRAPED_MS;
      const observing = createPeriodicTask({
        everyMs: (lastRunMs) => Math.max(DEPTH_EVERY_MS, 10 * lastRunMs),
        async run() {
          if (isScraped()) await service.observe();
          failing = false;
        },
        onError(error) {
          // Only the first of many failures in a row.
          if (!failing)
            context.logger.warn({ err: error }, 'the depth of the queues cannot be read for /metrics');
          failing = true;
        },
      });
      return {
        routes(app, { mountOptions: { authenticate } }) {
          mountQueues(app, { queues: service, authenticate });
          mountDeadLetters(app, { queues: service, authenticate });
        },
        prepare: lanes.load,
        metrics() {
          const status = service.observed();
          const known = isScraped() ? status : status.map((lane) => ({ ...lane, depth: [] }));
          // The first of several scrapes has no depth yet, or an old one.
          if (!isScraped()) observing.wake();
          scrapedAt = performance.now();
          return queueMetrics(known);
        },
        background: [lanes, actions, observing],
      };
    },
  };
}
