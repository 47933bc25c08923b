import type { Origin } from '../../core/audit/audit.ts';
import type { SessionEnds } from '../../core/sessions/session-ends.ts';
import { type LinkedIdentityStore, linkedIdentityId } from './linked-identity.ts';
import { LOGOUT_TOKEN_SECONDS } from './upstream-client.ts';
import { UpstreamError, type UpstreamLogout } from './upstream-identity.ts';
import { beganWith } from './upstream-session.ts';

/**
 * Ends the sessions that began by a sign-in at the provider with this id: those of its session, or of all that the subject has.
 * Throws an UpstreamError if that was said before.
 */
export type EndUpstreamSessions = (provider: string, logout: UpstreamLogout, origin: Origin) => Promise<void>;

export function createEndUpstreamSessions(options: {
  store: Pick<LinkedIdentityStore, 'find' | 'findBySession'>;
  sessionEnds: Pick<SessionEnds, 'endSignIns'>;
  /** Whether this is the first use of a name until then, over all replicas. */
  useOnce(name: string, until: Date): Promise<boolean>;
}): EndUpstreamSessions {
  const { store, sessionEnds, useOnce } = options;
  return async (provider, logout, origin) => {
    const { issuer, subject, sid, id } = logout;
    // Twice the age at which a token is refused: clocks differ.
    const until = new Date(Date.now() + 2 * LOGOUT_TOKEN_SECONDS * 1000);
    if (!(await useOnce(`logout token ${provider} ${id}`, until))) {
      throw new UpstreamError('refused', 'the logout token was used before');
    }
    const linked =
      subject === undefined
        ? await store.findBySession(provider, sid ?? '')
        : await store.find(linkedIdentityId({ issuer, subject }));
    if (linked === undefined) return;
    await sessionEnds.endSignIns(
      linked.userId,
      (session) => beganWith(session, { provider, subject: linked.subject, sid }),
      { action: 'session.ended', origin, actor: null, details: { provider } },
    );
  };
}
