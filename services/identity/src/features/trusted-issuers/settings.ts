import { addresses, described } from '@gatehouse/core/config';

export const trustedIssuerSettings = {
  trustedIssuerNetworks: described(
    'Private networks in which the keys of trusted issuers, and those of applications (`jwks_uri`), may be. Public addresses need no entry.',
    addresses('IDENTITY_TRUSTED_ISSUER_NETWORKS'),
  ),
};
