import Provider, { type Interaction, type Session } from 'oidc-provider';
import type { OfAccount } from '../../core/oidc/adapter/oidc-adapter.ts';
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
    const isStepUp = this.accountId === details.accountId && this.loginTs === details.loginTs;
    if (upstream?.accountId === details.accountId) this[UPSTREAM_SESSION] = upstream;
    else if (!isStepUp) this[UPSTREAM_SESSION] = undefined;
    loginAccount.call(this, details);
  };
}

/** Whether a session began by a sign-in at a provider, with an identity and in its session there if these are given and known, and until `before`. */
export function beganWith(
  { payload }: Pick<OfAccount, 'payload'>,
  {
    provider,
    subject,
    sid,
    before,
  }: { provider: string; subject?: string; sid?: string | undefined; before?: Date | undefined },
): boolean {
  const upstream = payload[UPSTREAM_SESSION] as UpstreamSession | undefined;
  return (
    upstream?.provider === provider &&
    (subject === undefined || upstream.subject === subject) &&
    (sid === undefined || upstream.sid === undefined || upstream.sid === sid) &&
    (before === undefined || Number(payload.loginTs) * 1000 <= before.getTime())
  );
}
