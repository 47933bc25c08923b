import { done, ok } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import { requestInfo } from '@gatehouse/server/requests';
import { REVOCATIONS_READ } from '@gatehouse/tokens/scopes';
import { Type } from 'typebox';
import type { Revocations } from '../../core/revocations/revocations.ts';
import type { ResourceApi } from './resource-api.ts';
import { resourceRevocation, revocationsShape } from './resource-revocation.ts';
import type { ResourceServer } from './resource-server.ts';
import type { RevocationStreams } from './revocation-streams.ts';
import { isTest, VERIFIER_ID, verifierOf } from './verifier.ts';
import { reportShape } from './verifier-shapes.ts';
import type { VerifierStore } from './verifier-store.ts';
import type { Verifiers } from './verifiers.ts';

/** The revocations that the servers of a resource read. Errors are thrown. */
export function feedRoutes(options: {
  resourceApi: ResourceApi;
  streams: Pick<RevocationStreams, 'open'>;
  revocations: Pick<Revocations, 'list'>;
  verifiers: Pick<Verifiers, 'poll'>;
  verifierStore: Pick<VerifierStore, 'noteTest' | 'noteRequests'>;
}): void {
  const { streams, revocations, verifiers, verifierStore } = options;
  const { api, findManaged } = options.resourceApi;

  api.get('revocations', '/:id/revocations', {
    summary: 'Read the revocations of a resource',
    description:
      'For its server, an application of type `resource` of the same owner: by HTTP Basic, or with a token by client credentials with the ' +
      'scope `revocations:read`. The revocations are those of people, grants and clients with tokens for this resource, of its tokens, and of signing keys. ' +
      'With `Accept: text/event-stream` they come as Server-Sent Events, each within a second: the `id` of an event is a position, for ' +
      '`Last-Event-ID`. Every 2 s a comment moves the position: all that was revoked until then has been sent. A stream ends after some ' +
      'minutes; connect again.',
    scopes: [REVOCATIONS_READ],
    query: Type.Object({
      after: Type.Optional(
        Type.String({
          maxLength: 2000,
          description: 'The `as_of` of an earlier response; without it, all that are in force.',
        }),
      ),
    }),
    responses: ok('The revocations, the earliest first.', revocationsShape),
    kinds: ['rate_limited'],
    async handle({ ctx, server, person, params, query }) {
      requireServer(server);
      const { id } = await findManaged(params.id, { person, server });
      const description = verifierOf(ctx.headers);
      const after = ctx.get('last-event-id') || query.after;
      if (ctx.accepts('application/json', 'text/event-stream') === 'text/event-stream') {
        requestInfo(ctx.req).streamingSince = performance.now();
        await streams.open(ctx.res, { server, resource: id, after, description });
        ctx.respond = false;
        return undefined;
      }
      const page = await revocations.list(after, id);
      if (description !== undefined) verifiers.poll(id, description, page.revocations);
      return { ...page, revocations: page.revocations.map(resourceRevocation) };
    },
  });

  api.post('report', '/:id/verifiers/:verifier/report', {
    summary: 'Report what a verifier has done',
    description:
      'For a verifier that reads the revocations: the requests that it has verified since its start, and whether it has applied the ' +
      'revocation of a test.',
    scopes: [REVOCATIONS_READ],
    body: reportShape,
    responses: done('The report is recorded.'),
    async handle({ server, person, params, body: { applied, requests } }) {
      requireServer(server);
      const { id } = await findManaged(params.id, { person, server });
      const { verifier } = params;
      if (!VERIFIER_ID.test(verifier)) throw new ServiceError('not_found', 'There is no such verifier.');
      if (applied !== undefined && isTest(applied))
        await verifierStore.noteTest(id, verifier, applied, 'applied');
      if (requests !== undefined) await verifierStore.noteRequests(id, verifier, requests);
    },
  });
}

function requireServer(server: ResourceServer | undefined): asserts server is ResourceServer {
  if (server === undefined) throw new ServiceError('forbidden', 'This is for applications of type resource.');
}
