import type { Logger } from '@gatehouse/core/logger';
import { apiAudience } from '@gatehouse/tokens/scopes';
import type { Connection } from 'mongoose';
import type { Revocations } from '../revocations/revocations.ts';
import { createAccessTokenHandles } from './access-token-handles.ts';
import { createFindClient } from './clients.ts';
import { createOidcStore } from './oidc-adapter.ts';
import type { ProviderOptions } from './provider.ts';
import { createReloadableProvider } from './reloadable-provider.ts';

/** How long a rotated refresh token may be used again without ending its family, in seconds. */
const REUSE_GRACE = 10;

/** oidc-provider, its storage, and the handles by which it finds access tokens. */
export function createOidcModule(
  options: Omit<ProviderOptions, 'keys' | 'store'> & {
    connection: Connection;
    revocations: Revocations;
    logger: Logger;
    onTokenIssued(clientId: string | undefined): void;
  },
) {
  const { connection, revocations, ...rest } = options;
  const handles = createAccessTokenHandles(apiAudience(options.issuer));
  const store = createOidcStore(connection, {
    findClient: createFindClient(options),
    findAccessToken: handles.find,
    denyToken: (id) => revocations.write([{ kind: 'token', id }]),
    denyGrant: (id) => revocations.write([{ kind: 'grant', id }]),
    reuseGrace: REUSE_GRACE,
    // Refresh tokens of a confidential client can be extended beyond that, but a code so old is no threat any more.
    keepExchangedCode: options.lifetimes.refreshToken,
  });
  return { handles, store, provider: createReloadableProvider({ ...rest, store }) };
}
