import { described, integer, oneOf } from '@gatehouse/core/config';
import { OPEN_REGISTRATIONS } from '../../core/limits/bounds.ts';

export const registrationSettings = {
  openRegistration: described(
    'Whether clients can register themselves without an initial access token (RFC 7591), as some MCP clients do. They can ask for the ' +
      'scopes `openid`, `profile`, `email` and `read:profile`, and the consent page says that nobody has checked who they are. ' +
      'The metadata of the server has a `registration_endpoint` only with `on`.',
    oneOf('IDENTITY_OPEN_REGISTRATION', ['on', 'off'], 'off'),
  ),
  openRegistrationsPerHour: described(
    'How many clients without an initial access token one address registers and changes in an hour. An office or a cloud service, whose ' +
      'people share an address, may need more.',
    integer('IDENTITY_OPEN_REGISTRATIONS_PER_HOUR', {
      min: 1,
      max: 100_000,
      default: OPEN_REGISTRATIONS.quota,
    }),
  ),
};
