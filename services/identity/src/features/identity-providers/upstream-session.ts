import Provider, { type Interaction, type Session } from 'oidc-provider';
import { storeFields } from '../../core/oidc/epochs/store-fields.ts';

/** The sign-in at a provider that somebody has come with; a field of the interaction, and of the session that it becomes. */
export const UPSTREAM_SESSION = 'upstreamSession';
export type UpstreamSession = {
  accountId: string;
  provider: string;
  subject: string;
  sid: string | undefined;
};
type WithUpstream = { [UPSTREAM_SESSION]?: UpstreamSession | undefined };

/** Makes sessions know the sign-in at a provider by which they began, until their owner signs in again in another way. */
export function trackUpstreamSessions({ Interaction, Session }: Provider): void {
  storeFields(Interaction, [UPSTREAM_SESSION]);
  storeFields(Session, [UPSTREAM_SESSION]);
  const { loginAccount } = Session.prototype;
  Session.prototype.loginAccount = function logIn(this: Session & WithUpstream, details) {
    const interaction = Provider.ctx?.oidc.entities.Interaction as (Interaction & WithUpstream) | undefined;
    const upstream = interaction?.[UPSTREAM_SESSION];
    this[UPSTREAM_SESSION] = upstream?.accountId === details.accountId ? upstream : undefined;
    loginAccount.call(this, details);
  };
}
