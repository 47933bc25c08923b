import { addresses, described } from '@gatehouse/core/config';

export const resourceSettings = {
  resourceNetworks: described(
    'Private networks in which APIs and MCP servers may be that people register as resources, and whose metadata proves that they are ' +
      'theirs. Public addresses need no entry.',
    addresses('IDENTITY_RESOURCE_NETWORKS'),
  ),
};
