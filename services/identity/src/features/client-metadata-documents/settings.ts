import { addresses, described, list, oneOf } from '@gatehouse/core/config';
import { ALL_SCOPES } from '../../core/oidc/claims/scope-rules.ts';

export const metadataDocumentSettings = {
  clientMetadata: described(
    'Whether clients that nobody has registered can ask people to sign in, with the URL of a Client ID Metadata Document as client_id, as MCP ' +
      'clients do. The consent page says that nobody has checked who they are.',
    oneOf('IDENTITY_CLIENT_METADATA', ['on', 'off'], 'off'),
  ),
  clientMetadataScopes: described(
    'The scopes that such clients may ask for, and the most that they have with the tools at `/mcp`.',
    list('IDENTITY_CLIENT_METADATA_SCOPES', ['openid', 'profile', 'email', 'read:profile'], ALL_SCOPES),
  ),
  clientMetadataNetworks: described(
    'Private networks in which such documents may be. Public addresses need no entry.',
    addresses('IDENTITY_CLIENT_METADATA_NETWORKS'),
  ),
};
