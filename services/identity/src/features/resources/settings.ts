import { addresses, described } from '@gatehouse/core/config';

export const resourceSettings = {
  resourceNetworks: described(
    'Private networks in which people may register APIs and MCP servers as resources. Their metadata proves that they belong to these ' +
      'people. Public addresses need no entry.',
    addresses('IDENTITY_RESOURCE_NETWORKS'),
  ),
};
