import { addresses, described } from '@gatehouse/core/config';

export const logoutSettings = {
  logoutNetworks: described(
    'Private networks in which applications may receive back-channel logout requests. Public addresses need no entry.',
    addresses('IDENTITY_LOGOUT_NETWORKS'),
  ),
};
