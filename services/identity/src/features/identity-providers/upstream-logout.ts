import type { Origin } from '../../core/audit/audit.ts';
import type { SessionEnds } from '../../core/sessions/session-ends.ts';
import { type LinkedIdentityStore, linkedIdentityId } from './linked-identity.ts';
import type { UpstreamLogout } from './upstream-identity.ts';
import { beganWith } from './upstream-session.ts';

/**
 * Ends the sessions that began by a sign-in at the provider with this id: those of its session, or of all that the subject has.
 * Returns whether an account is connected.
 */
export type EndUpstreamSessions = (
  provider: string,
  logout: UpstreamLogout,
  origin: Origin,
) => Promise<boolean>;

export function createEndUpstreamSessions(options: {
  store: Pick<LinkedIdentityStore, 'find' | 'findBySession'>;
  sessionEnds: Pick<SessionEnds, 'endSignIns'>;
}): EndUpstreamSessions {
  const { store, sessionEnds } = options;
  return async (provider, { issuer, subject, sid, before }, origin) => {
    const linked =
      subject === undefined
        ? await store.findBySession(provider, sid ?? '')
        : await store.find(linkedIdentityId({ issuer, subject }));
    if (linked === undefined) return false;
    await sessionEnds.endSignIns(
      linked.userId,
      (session) => beganWith(session, { provider, subject: linked.subject, sid, before }),
      { action: 'session.ended', origin, actor: null, details: { provider } },
    );
    return true;
  };
}
