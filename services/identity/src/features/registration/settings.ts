import { described, oneOf } from '@gatehouse/core/config';

export const registrationSettings = {
  openRegistration: described(
    'Whether clients can register themselves without an initial access token (RFC 7591), as some MCP clients do. They can ask for the ' +
      'scopes `openid`, `profile`, `email` and `read:profile`, and people are told that nobody has checked who they are.',
    oneOf('IDENTITY_OPEN_REGISTRATION', ['on', 'off'], 'off'),
  ),
};
