import { serializer } from '@gatehouse/api/http/schema';
import { done, ok, shape } from '@gatehouse/api/openapi/shapes';
import { uncached } from '@gatehouse/api/resource/mount-endpoints';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { Type } from 'typebox';
import { mountAdminEndpoints, operatorOf, WRITE } from './admin-access.ts';
import type { QueuedDeadLetter, QueueService } from './queue-service.ts';

export const DEAD_LETTERS_PATH = '/api/v1/dead-letters';

const MAX_REPLAYED = 100;

const DeadLetter = Type.Object({
  id: Type.String({ description: 'The id of the job.' }),
  queue: Type.String(),
  lane: Type.String(),
  priority: Type.String(),
  data: Type.Record(Type.String(), Type.Unknown(), {
    description: 'The kind and the id of the object of the job.',
  }),
  attempts: Type.Integer(),
  error: Type.String({ description: 'The message of the last error.' }),
  created_at: Type.String({ format: 'date-time' }),
  failed_at: Type.String({ format: 'date-time' }),
});
const Page = Type.Object({
  data: Type.Array(DeadLetter),
  links: Type.Object({ next: Type.Optional(Type.String({ format: 'uri-reference' })) }),
  meta: Type.Object({ itemsPerPage: Type.Integer(), hasNextPage: Type.Boolean() }),
});
const ListQuery = Type.Object({
  queue: Type.Optional(Type.String({ description: 'Only the dead letters of this queue.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  cursor: Type.Optional(Type.String({ description: 'The cursor in links.next of the previous page.' })),
});
const Replay = Type.Object({
  ids: Type.Array(Type.String({ maxLength: 200 }), { minItems: 1, maxItems: MAX_REPLAYED }),
});
const Replayed = Type.Object({
  replayed: Type.Integer({ description: 'The number of jobs that are back in their queues.' }),
  unknown: Type.Array(Type.String(), { description: 'The ids for which there are no dead letters.' }),
});
const PurgeQuery = Type.Object({
  queue: Type.String({ description: 'The queue whose dead letters are removed.' }),
  lane: Type.Optional(Type.String({ description: 'Only the dead letters of this lane.' })),
});
const Removed = Type.Object({ removed: Type.Integer() });

const writeOne = serializer(DeadLetter);
const writePage = serializer(Page);
const writeReplayed = serializer(Replayed);
const writeRemoved = serializer(Removed);

const EXAMPLE = {
  id: 'ntf_06f2k1c8w0h3v5n7q9t1x3z5b7',
  queue: 'messages',
  lane: 'email',
  priority: 'high',
  data: { notification: 'ntf_06f2k1c8w0h3v5n7q9t1x3z5b7' },
  attempts: 8,
  error: 'The mail server did not say whether it has accepted the message.',
  created_at: '2026-03-01T09:30:00.000Z',
  failed_at: '2026-03-01T09:52:11.000Z',
};
const PAGE_EXAMPLE = { data: [EXAMPLE], links: {}, meta: { itemsPerPage: 1, hasNextPage: false } };

/** Mounts the dead letters of all queues, for admins: listing, reading, replaying and removing them. */
export function mountDeadLetters(
  app: FastifyInstance,
  { queues, authenticate }: { queues: QueueService; authenticate: onRequestAsyncHookHandler },
): void {
  const api = mountAdminEndpoints(app, authenticate, DEAD_LETTERS_PATH);
  const one = shape('DeadLetter', DeadLetter, EXAMPLE);

  api.get('list', '/', {
    operationId: 'list_dead_letters',
    summary: 'List dead letters',
    description: 'Jobs whose attempts all failed, in the order of their failure. For admins.',
    query: ListQuery,
    responses: ok('A page of the list.', { ...shape('DeadLetters', Page, PAGE_EXAMPLE), parts: [one] }),
    kinds: ['not_found'],
    async handle({ reply, query: { queue, limit = 20, cursor } }) {
      const { data, next } = await queues.deadLetters({ queue, limit, cursor: cursor || undefined });
      const meta = { itemsPerPage: data.length, hasNextPage: next !== undefined };
      const links = next === undefined ? {} : { next: linkTo(next, { queue, limit }) };
      return uncached(reply, writePage({ data: data.map(show), links, meta }));
    },
  });

  api.post('replay', '/', {
    operationId: 'replay_dead_letters',
    summary: 'Replay dead letters',
    description:
      'The jobs go back into their queues, with a full set of attempts. For admins; recorded in the audit log.',
    scopes: WRITE,
    body: shape('DeadLetterReplay', Replay, { ids: [EXAMPLE.id] }),
    responses: ok(
      'The number of replayed jobs, and the unknown ids.',
      shape('DeadLettersReplayed', Replayed, { replayed: 1, unknown: [] }),
    ),
    async handle({ request, reply, body }) {
      const ids = [...new Set(body.ids)];
      const unknown = await queues.replay(ids, operatorOf(request));
      return uncached(reply, writeReplayed({ replayed: ids.length - unknown.length, unknown }));
    },
  });

  api.delete('purge', '/', {
    operationId: 'purge_dead_letters',
    summary: 'Remove all dead letters of a queue or a lane',
    description: 'For admins; recorded in the audit log.',
    scopes: WRITE,
    query: PurgeQuery,
    responses: ok(
      'The number of removed dead letters.',
      shape('DeadLettersRemoved', Removed, { removed: 3 }),
    ),
    kinds: ['not_found'],
    async handle({ request, reply, query: { queue, lane } }) {
      const removed = await queues.purge(queue, lane, operatorOf(request));
      return uncached(reply, writeRemoved({ removed }));
    },
  });

  api.get('read', '/:id', {
    operationId: 'read_dead_letter',
    summary: 'Read a dead letter',
    description: 'For admins.',
    responses: ok('The dead letter.', one),
    handle: async ({ reply, params }) =>
      uncached(reply, writeOne(show(await queues.readDeadLetter(params.id)))),
  });

  api.delete('remove', '/:id', {
    operationId: 'remove_dead_letter',
    summary: 'Remove a dead letter',
    description: 'For admins; recorded in the audit log.',
    scopes: WRITE,
    responses: done('The dead letter has been removed.'),
    handle: ({ request, params }) => queues.removeDeadLetter(params.id, operatorOf(request)),
  });
}

function linkTo(cursor: string, { queue, limit }: { queue: string | undefined; limit: number }): string {
  const query = new URLSearchParams({ limit: String(limit), cursor, ...(queue && { queue }) });
  return `${DEAD_LETTERS_PATH}?${query}`;
}

function show({ id, queue, lane, priority, data, attempts, error, at, failedAt }: QueuedDeadLetter) {
  return {
    ...{ id, queue, lane, priority, data, attempts, error },
    created_at: at.toISOString(),
    failed_at: failedAt.toISOString(),
  };
}
