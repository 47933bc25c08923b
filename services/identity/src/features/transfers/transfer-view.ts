import { Type } from 'typebox';
import { grantTypesOf } from '../../core/applications/application.ts';
import { ApplicationView, Time } from '../applications/views.ts';
import type { OfferedTransfer } from './transfers.ts';

export const TransferView = Type.Object({
  id: Type.String(),
  sender: Type.Object({ id: Type.String(), username: Type.String() }, { description: 'Who offers it.' }),
  to: Type.String({ description: 'The id of the person who may accept it.' }),
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
      grant_types: Type.Array(Type.String(), { description: 'The grants by which it gets tokens.' }),
    },
    { description: 'What is offered.' },
  ),
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
