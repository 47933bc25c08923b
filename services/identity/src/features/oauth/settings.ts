import { described, oneOf } from '@gatehouse/core/config';
import { PROFILE_PINS } from '@gatehouse/domain/profile-pins';

export const oauthSettings = {
  userInfo: described(
    'The format of `/userinfo` for applications that do not pin it. With `openid`, `updated_at` is a number of ' +
      'seconds.',
    oneOf('IDENTITY_USERINFO', PROFILE_PINS.userinfo, PROFILE_PINS.userinfo[0]),
  ),
};
