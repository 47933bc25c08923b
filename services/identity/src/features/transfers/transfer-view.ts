import { shape } from '@gatehouse/api/openapi/shapes';
import { Type } from 'typebox';
import { grantTypesOf } from '../../core/applications/application.ts';
import { ApplicationView, EXAMPLE_TIME, Time } from '../applications/views.ts';
import type { OfferedTransfer } from './transfers.ts';

const TransferView = Type.Object({
  id: Type.String(),
  sender: Type.Object(
    { id: Type.String(), username: Type.String() },
    { description: 'The offering person.' },
  ),
  to: Type.String({ description: 'The id of the person who may accept the application.' }),
  created_at: Time,
  expires_at: Time,
  application: Type.Object(
    {
      ...Type.Pick(ApplicationView, [
        'client_id',
        'name',
        'type',
        'redirect_uris',
        'post_logout_redirect_uris',
        'scopes',
        'trusted',
      ]).properties,
      grant_types: Type.Array(Type.String(), { description: 'The grant types of the application.' }),
    },
    { description: 'The offered application.' },
  ),
});

export const transferShape = shape('Transfer', TransferView, {
  id: 'trf_01m7g9w2k0000c4v8x3r6t5n1z',
  sender: { id: 'usr_01m7g9v7d0000a3b9e5k2m8p4q', username: 'ada' },
  to: 'usr_01m7g9x1h0000d6w2y8s4v7r3t',
  created_at: EXAMPLE_TIME,
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

/** A pending transfer as the API returns it. */
export function transferView({ id, sender, to, createdAt, expiresAt, application }: OfferedTransfer) {
  return {
    id,
    sender: { id: sender.id, username: sender.username },
    to,
    created_at: createdAt,
    expires_at: expiresAt,
    application: {
      client_id: application.id,
      name: application.name,
      type: application.type,
      redirect_uris: application.redirectUris,
      post_logout_redirect_uris: application.postLogoutRedirectUris,
      scopes: application.scopes,
      trusted: application.trusted,
      grant_types: grantTypesOf(application),
    },
  };
}
