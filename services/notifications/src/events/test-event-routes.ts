import { plainBody } from '@gatehouse/api/http/error-bodies';
import { createRateLimiter } from '@gatehouse/api/http/rate-limit';
import type { RateLimitStore } from '@gatehouse/api/http/rate-limit-store';
import { invalidFields } from '@gatehouse/api/http/schema';
import { response, shape } from '@gatehouse/api/openapi/shapes';
import { mountEndpoints } from '@gatehouse/api/resource/mount-endpoints';
import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import { isFirstParty } from '@gatehouse/tokens/caller';
import { closest } from 'fastest-levenshtein';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { Type } from 'typebox';
import type { NewEvent, StoredEvent } from './event.ts';
import { EVENTS_PATH, READ } from './event-resource.ts';
import { EVENT_TYPE_NAMES, person, TEST_TYPE, typeOf } from './event-types.ts';
import { mayReadType, type ReadingRights } from './reading-rights.ts';

const TYPES = EVENT_TYPE_NAMES.filter((name) => name !== TEST_TYPE);
const testShape = shape('TestEvent', Type.Object({ type: Type.String({ maxLength: 60 }) }), {
  type: 'order.created',
});
const sentShape = shape('SentTestEvent', Type.Object({ id: Type.String() }), {
  id: 'evt_06f2k1c8w0h3v5n7q9t1x3z5b7',
});

const LIMIT = { name: 'test-events', quota: 60, seconds: 60 };

/**
 * Mounts POST /api/v1/events/test. The event has one reader, the caller, so that it goes to the caller's own streams and webhooks only. An
 * application sends none to the webhooks of a person, which it may not even see.
 *
 * @param options.send stores an event and passes it on to webhooks
 */
export function mountTestEvents(
  app: FastifyInstance,
  options: {
    authenticate: onRequestAsyncHookHandler;
    rights: Pick<ReadingRights, 'ofCaller'>;
    send(event: NewEvent): Promise<StoredEvent>;
    /** Counts for all replicas. */
    counters: RateLimitStore;
  },
): void {
  const { authenticate, rights, send } = options;
  const limiter = createRateLimiter(LIMIT, options.counters);
  const path = { prefix: EVENTS_PATH, errors: { body: plainBody }, scopes: READ };
  mountEndpoints(app, authenticate, path).post('test', '/test', {
    operationId: 'send_test_event',
    summary: 'Send a test event to yourself',
    description:
      'An event of this type with the data of its example and `"test": true`. Your streams of events and your webhooks that subscribe to ' +
      'the type get it, and nobody else.',
    body: testShape,
    responses: { 202: response('The event is on its way.', sentShape) },
    kinds: ['invalid', 'rate_limited'],
    async handle({ caller, body: { type } }) {
      if (caller.person !== undefined && !isFirstParty(caller))
        throw new ServiceError(
          'forbidden',
          'Only people send test events, and trusted applications to themselves.',
        );
      const found = type === TEST_TYPE ? undefined : typeOf(type);
      if (found === undefined)
        throw invalidFields([
          { field: 'type', message: `is not a type of events. The nearest is ${closest(type, TYPES)}` },
        ]);
      if (!mayReadType(await rights.ofCaller(caller), type))
        throw new ServiceError('forbidden', `You may not read events of this type: ${type}.`);
      const owner = caller.person?.id ?? caller.clientId;
      await limiter.count(owner);
      const [now, source] = [new Date(), newId('evt')];
      const { id } = await send({
        ...{ type, data: found.example, test: true, occurredAt: now, sequence: now.getTime() },
        // Of its own, so that it waits for no other event.
        ...{ aggregate: source, source, version: 1, readers: [person(owner)] },
      });
      return { id };
    },
  });
}
