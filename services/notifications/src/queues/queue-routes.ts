import { serializer } from '@gatehouse/api/http/schema';
import { ok, shape } from '@gatehouse/api/openapi/shapes';
import { uncached } from '@gatehouse/api/resource/mount-endpoints';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { Type } from 'typebox';
import { mountAdminEndpoints, operatorOf, WRITE } from './admin-access.ts';
import type { LaneStatus, QueueService } from './queue-service.ts';

export const QUEUES_PATH = '/api/v1/queues';

const Count = (description: string) => Type.Integer({ minimum: 0, description });
const Lane = Type.Object({
  queue: Type.String(),
  lane: Type.String(),
  paused: Type.Boolean({ description: 'Whether the lane is paused: its jobs wait.' }),
  failing: Type.Unsafe<{ since: string; error: string } | null>({
    type: ['object', 'null'],
    description:
      'Since when the provider has been failing, as seen by the replica that responds; jobs wait meanwhile.',
    properties: { since: { type: 'string', format: 'date-time' }, error: { type: 'string' } },
    required: ['since', 'error'],
  }),
  attempts: Type.Record(Type.String(), Type.Integer(), {
    description:
      'The number of attempts by their outcome, since the beginning. A `postponed` attempt does not use up ' +
      'one of the attempts of its job.',
  }),
  owners: Type.Array(Type.Object({ owner: Type.String(), slot_seconds: Type.Number() }), {
    description:
      'The ten people or applications whose jobs were worked on for the longest time in the last hour or so, as seen by the replica that ' +
      'responds.',
  }),
  priorities: Type.Array(
    Type.Object({
      priority: Type.String(),
      waiting: Count('Jobs that no worker has taken yet.'),
      in_flight: Count('Jobs that are running, or wait for their next attempt.'),
      oldest_seconds: Type.Number({
        description: 'The age of the oldest job that is waiting or in flight.',
      }),
      dead_letters: Count('Jobs that have failed for good.'),
    }),
  ),
});
const LaneList = Type.Array(Lane);
const Change = Type.Object({ paused: Type.Boolean() });

const writeLane = serializer(Lane);
const writeList = serializer(LaneList);

const EXAMPLE = {
  queue: 'messages',
  lane: 'email',
  paused: false,
  failing: null,
  attempts: { accepted: 120, failed: 3 },
  owners: [{ owner: 'usr_06f2k1c8w0h3v5n7q9t1x3z5b7', slot_seconds: 12.5 }],
  priorities: [{ priority: 'high', waiting: 2, in_flight: 1, oldest_seconds: 0.4, dead_letters: 0 }],
};

/** Mounts the queues, for admins: how full they are, and pausing a lane. */
export function mountQueues(
  app: FastifyInstance,
  { queues, authenticate }: { queues: QueueService; authenticate: onRequestAsyncHookHandler },
): void {
  const api = mountAdminEndpoints(app, authenticate, QUEUES_PATH);
  api.get('list', '/', {
    operationId: 'list_queues',
    summary: 'List the lanes of all queues',
    description: 'The lanes, with the numbers of their jobs. For admins.',
    responses: ok('The lanes.', shape('Lanes', LaneList, [EXAMPLE])),
    handle: async ({ reply }) => uncached(reply, writeList((await queues.status()).map(show))),
  });

  api.put('change', '/:queue/:lane', {
    operationId: 'change_lane',
    summary: 'Pause or resume a lane',
    description: 'Every worker follows within seconds. For admins; recorded in the audit log.',
    scopes: WRITE,
    body: shape('LaneChange', Change, { paused: true }),
    responses: ok('The lane.', shape('Lane', Lane, EXAMPLE)),
    kinds: ['invalid'],
    async handle({ request, reply, params: { queue, lane }, body: { paused } }) {
      const status = await queues.setPaused(queue, lane, paused, operatorOf(request));
      return uncached(reply, writeLane(show(status)));
    },
  });
}

function show({ queue, lane, paused, failing, outcomes, slotTimes, depth }: LaneStatus) {
  return {
    queue,
    lane,
    paused,
    failing: failing === undefined ? null : { since: failing.since.toISOString(), error: failing.error },
    attempts: { ...outcomes },
    owners: slotTimes.map(({ owner, ms }) => ({ owner, slot_seconds: Math.round(ms) / 1000 })),
    priorities: depth.map(({ priority, waiting, inFlight, oldestMs, deadLetters }) => ({
      priority,
      waiting,
      in_flight: inFlight,
      oldest_seconds: oldestMs / 1000,
      dead_letters: deadLetters,
    })),
  };
}
