import { shape } from '@gatehouse/api/openapi/shapes';
import { API_KEY_PREFIX } from '@gatehouse/verify/api-key';
import { Type } from 'typebox';
import { EXAMPLE_TIME, LastFour, LastUseFields, lastUseView, orNull, Time } from '../applications/views.ts';
import type { ApiKey } from './api-key.ts';

export const KeyView = Type.Object({
  id: Type.String(),
  name: Type.String(),
  scopes: Type.Array(Type.String()),
  resource: orNull(
    Type.String(),
    'The identifier of the API that the key is for; `null` for that of Gatehouse.',
  ),
  prefix: Type.String({ description: 'The first characters of the key, to recognize it.' }),
  last_four: LastFour,
  created_at: Time,
  expires_at: orNull(Time),
  ...LastUseFields,
  rotated_to: orNull(Type.String(), 'The id of the key that replaces it.'),
});

export const keyShape = shape('ApiKey', KeyView, {
  id: '4fGq9LxT2mZ8',
  name: 'Nightly run',
  scopes: ['read:data'],
  resource: null,
  prefix: 'gatehouse_4fGq9LxT2mZ8',
  last_four: 'k2Jd',
  created_at: EXAMPLE_TIME,
  expires_at: null,
  last_used_at: null,
  last_used_address: null,
  rotated_to: null,
});

/** An API key without its text, whose beginning is `prefix`. */
export function keyView(key: ApiKey) {
  return {
    id: key.id,
    name: key.name,
    scopes: key.scopes,
    resource: key.resource ?? null,
    prefix: API_KEY_PREFIX + key.id,
    last_four: key.lastFour,
    created_at: key.createdAt,
    expires_at: key.expiresAt,
    ...lastUseView(key.lastUse),
    rotated_to: key.rotatedTo,
  };
}
