import { addresses, described } from '@gatehouse/core/config';

export const sharedSignalSettings = {
  sharedSignalsNetworks: described(
    'Private networks in which applications may receive security events (Shared Signals). Public addresses need no entry. Plain http is ' +
      'allowed to loopback addresses if there is an entry.',
    addresses('IDENTITY_SHARED_SIGNALS_NETWORKS'),
  ),
};
