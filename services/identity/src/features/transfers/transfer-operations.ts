import { listOf, managed, type Operations, response, shape } from '../../openapi/operations.ts';
import { application } from '../applications/application-operations.ts';
import { APPLICATIONS as tag } from '../applications/manager-routes.ts';
import { Transfer } from './transfer-routes.ts';
import { TransferView } from './transfer-view.ts';

const one = `${tag}/:client_id`;
const TRANSFERS = '/api/v1/transfers';
const at = '2026-11-02T09:30:00.000Z';

const transfer = shape('Transfer', TransferView, {
  id: 'trf_01m7g9w2k0000c4v8x3r6t5n1z',
  sender: { id: 'usr_01m7g9v7d0000a3b9e5k2m8p4q', username: 'ada' },
  to: 'usr_01m7g9x1h0000d6w2y8s4v7r3t',
  created_at: at,
  expires_at: '2026-11-09T09:30:00.000Z',
  application: {
    client_id: 'app_01m7g9w2k0000c4v8x3r6t5n1z',
    name: 'Lighthouse',
    type: 'web',
    redirect_uris: ['https://lighthouse.example/callback'],
    post_logout_redirect_uris: [],
    scopes: ['openid', 'read:data'],
    trusted: false,
    grant_types: ['authorization_code', 'refresh_token'],
  },
});

/** Applications that are given to other people. */
export const transferOperations: Operations = {
  [`POST ${one}/transfer`]: managed({
    operationId: 'transfer_api_v1_applications',
    tag,
    summary: 'Offer an application to another person',
    description:
      'They have 7 days to accept, and are told by mail; a change of the application ends the offer, and another offer replaces ' +
      'it. Only admins offer one to somebody with a higher role than their own. An admin who names themselves has it at once.',
    body: [shape('ApplicationTransfer', Transfer, { to: 'grace' })],
    responses: {
      200: response('The application, which the admin now owns.', application),
      202: response('The pending transfer.', transfer),
    },
    kinds: ['not_found', 'conflict'],
  }),
  [`GET ${one}/transfer`]: managed({
    operationId: 'read_api_v1_applications_transfer',
    tag,
    summary: 'Read the pending transfer',
    responses: { 200: response('The pending transfer.', transfer) },
    kinds: ['not_found'],
  }),
  [`DELETE ${one}/transfer`]: managed({
    operationId: 'cancel_api_v1_applications_transfer',
    tag,
    summary: 'Cancel the pending transfer',
    responses: { 204: { description: 'It can no longer be accepted.' } },
    kinds: ['not_found'],
  }),
  [`GET ${TRANSFERS}`]: managed({
    operationId: 'list_api_v1_transfers',
    tag: TRANSFERS,
    summary: 'List the applications offered to you',
    description: 'The oldest first, at most 20.',
    responses: { 200: response('The pending transfers.', listOf('Transfers', transfer)) },
  }),
  [`POST ${TRANSFERS}/:id/accept`]: managed({
    operationId: 'accept_api_v1_transfers',
    tag: TRANSFERS,
    summary: 'Accept an application',
    description:
      'You become its owner. Its secrets, public keys, API keys, tokens and trust end, and so does all that people have allowed ' +
      'it: they are asked again. Its redirect URIs stay.',
    responses: { 200: response('The application, which is yours.', application) },
    kinds: ['not_found', 'conflict'],
  }),
  [`POST ${TRANSFERS}/:id/decline`]: managed({
    operationId: 'decline_api_v1_transfers',
    tag: TRANSFERS,
    summary: 'Decline an application',
    responses: { 204: { description: 'It stays with its owner.' } },
    kinds: ['not_found'],
  }),
};
