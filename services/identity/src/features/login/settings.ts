import { described, oneOf } from '@gatehouse/core/config';

export const loginSettings = {
  passwordLogin: described(
    'Whether `POST /api/v1/auth/login` accepts passwords. With `off`, people type them on the sign-in page only.',
    oneOf('IDENTITY_PASSWORD_LOGIN', ['on', 'off'], 'on'),
  ),
};
