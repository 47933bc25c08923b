import { described, list, origin } from '@gatehouse/core/config';

const NAME = 'IDENTITY_RELATED_ORIGINS';
const origins = list(NAME);

export const passkeySettings = {
  relatedOrigins: described(
    'Other sites of yours whose own pages may ask a browser for the passkeys of `PUBLIC_URL`, as `/.well-known/webauthn` tells it (WebAuthn Level 3 §5.11). ' +
      'A passkey that was used at one of them signs nobody in to Gatehouse.',
    {
      ...origins,
      type: 'a list of origins, separated by commas',
      read: (raw) => origins.read(raw).map((it) => origin(NAME).read(it)),
    },
    'https://shop.example.com,https://shop.example.co.uk',
  ),
};
