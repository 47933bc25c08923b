import { done, listOf, ok, response, shape } from '@gatehouse/api/openapi/shapes';
import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { Api } from '../../http/api.ts';
import { APPLICATIONS, createManagerApi } from '../applications/managers.ts';
import { applicationShape, applicationView } from '../applications/views.ts';
import { transferShape, transferView } from './transfer-view.ts';
import type { Transfers } from './transfers.ts';

const Transfer = Type.Object({ to: Type.String({ minLength: 1, maxLength: 254 }) });

/** Offers of applications, by those who make them and by those who get them. Errors are thrown. */
export function transferRoutes(options: {
  transfers: Transfers;
  authenticate(ctx: Context): Promise<Caller>;
}): Api[] {
  const { transfers, authenticate } = options;
  const offered = createManagerApi(APPLICATIONS, authenticate);
  const received = createManagerApi('/api/v1/transfers', authenticate);

  offered.post('transfer', '/:client_id/transfer', {
    summary: 'Offer an application to another person',
    description:
      'The person gets a mail and has 7 days to accept; a change of the application ends the offer, and another offer replaces ' +
      'it. Only admins may offer it to somebody with a higher role than their own. An admin who names themselves gets it at once.',
    body: shape('ApplicationTransfer', Transfer, { to: 'grace' }),
    responses: {
      200: response('The application, which the admin now owns.', applicationShape),
      202: response('The pending transfer.', transferShape),
    },
    kinds: ['conflict'],
    async handle({ ctx, manager, params, body }) {
      const result = await transfers.offer(manager, params.client_id, body.to);
      if (!('application' in result)) return applicationView(result);
      ctx.status = 202;
      return transferView(result);
    },
  });

  offered.get('read', '/:client_id/transfer', {
    summary: 'Read the pending transfer',
    responses: ok('The pending transfer.', transferShape),
    handle: async ({ manager, params }) => transferView(await transfers.pending(manager, params.client_id)),
  });

  offered.delete('cancel', '/:client_id/transfer', {
    summary: 'Cancel the pending transfer',
    responses: done('The transfer can no longer be accepted.'),
    handle: ({ manager, params }) => transfers.cancel(manager, params.client_id),
  });

  received.get('list', '/', {
    summary: 'List the applications offered to you',
    description: 'The oldest first, at most 20.',
    responses: ok('The pending transfers.', listOf('Transfers', transferShape)),
    handle: async ({ manager }) => ({ data: (await transfers.received(manager)).map(transferView) }),
  });

  received.post('accept', '/:id/accept', {
    summary: 'Accept an application',
    description:
      'You become its owner. Its secrets, public keys, API keys, tokens and trust end, and so do the permissions that people ' +
      'gave it: they are asked again. Its redirect URIs stay.',
    responses: ok('The application, which is yours.', applicationShape),
    kinds: ['conflict'],
    handle: async ({ manager, params }) => applicationView(await transfers.accept(manager, params.id)),
  });

  received.post('decline', '/:id/decline', {
    summary: 'Decline an application',
    responses: done('The application stays with its owner.'),
    handle: ({ manager, params }) => transfers.decline(manager, params.id),
  });
  return [offered, received];
}
