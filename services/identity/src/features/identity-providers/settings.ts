import { addresses, described, json, optional } from '@gatehouse/core/config';
import { readIdentityProviders } from './provider-settings.ts';

export const identityProviderSettings = {
  identityProviders: described(
    'The other providers with which people can sign in. docs/guides/identity-providers.md describes the list.',
    optional(json('IDENTITY_PROVIDERS', 'a list in JSON', readIdentityProviders)),
    '[{"preset":"google","client_id":"…","client_secret":"…"}]',
  ),
  providerNetworks: described(
    'Private networks of identity providers that admins may add in the dashboard. Public addresses, and providers of ' +
      '`IDENTITY_PROVIDERS`, need no entry.',
    addresses('IDENTITY_PROVIDER_NETWORKS'),
  ),
};
