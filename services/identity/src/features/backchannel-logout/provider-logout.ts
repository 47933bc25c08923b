import Provider, { type Client } from 'oidc-provider';
import type { Logout } from '../../core/oidc/epochs/sign-outs.ts';

type Sender = { sendLogoutToken(accountId: string, sid: string): Promise<void> };

/** Passes on what oidc-provider would send itself, and wait for, when the person signs out at one application only. */
export function routeLogouts(provider: Provider, send: (logout: Logout) => Promise<void>): void {
  const client = provider.Client.prototype as unknown as Sender & {
    clientId: string;
    backchannelLogout(accountId: string, sid: string): Promise<void>;
  };
  client.sendLogoutToken = client.backchannelLogout;
  client.backchannelLogout = async function notify(this: { clientId: string }, accountId, sid) {
    // The end of the whole session, which follows, tells every application.
    const { params, session } = Provider.ctx?.oidc ?? {};
    if (params?.logout !== undefined) return;
    const { clientId } = this;
    const { consentEpoch = 0 } = (session?.authorizationFor(clientId) ?? {}) as { consentEpoch?: number };
    await send({ clientId, accountId, sid, consentEpoch });
  };
}

/** Sends a logout token to an application (OpenID Connect Back-Channel Logout §2.4). Throws unless it is accepted. */
export function sendLogoutToken(client: Client, accountId: string, sid: string): Promise<void> {
  return (client as unknown as Sender).sendLogoutToken(accountId, sid);
}
