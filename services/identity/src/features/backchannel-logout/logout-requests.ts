import { createOutbound } from '@gatehouse/outbound/outbound';

/** As long as oidc-provider itself waits. */
const TIMEOUT_MS = 2500;

/**
 * The requests of oidc-provider, which are the notifications of OpenID Connect Back-Channel Logout 1.0 §2.5: to public
 * addresses, and to those in the allowed networks (addresses and CIDR ranges).
 */
export function logoutRequests(networks: readonly string[]) {
  const outbound = createOutbound({ to: 'public', networks, timeoutMs: TIMEOUT_MS });
  return async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await outbound.fetch(String(url), init);
    // Only the status counts (§2.8).
    await response.body?.cancel();
    return response;
  };
}
