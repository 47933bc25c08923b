import type { Origin } from '../../core/audit/audit.ts';
import type { SessionEnds } from '../../core/sessions/session-ends.ts';
import type { SignInGenerations } from '../../core/sessions/sign-in-generations.ts';
import { type LinkedIdentityStore, linkedIdentityId } from './linked-identity.ts';
import { LOGOUT_TOKEN_SECONDS } from './upstream-client.ts';
import { UpstreamError, type UpstreamLogout } from './upstream-identity.ts';
import { UPSTREAM_SESSION, type UpstreamSession } from './upstream-session.ts';

/**
 * Ends the sessions that began by a sign-in at the provider with this id: those of its session, or of all that the subject has.
 * Throws an UpstreamError if that was said before.
 */
export type EndUpstreamSessions = (provider: string, logout: UpstreamLogout, origin: Origin) => Promise<void>;

export function createEndUpstreamSessions(options: {
  store: Pick<LinkedIdentityStore, 'find' | 'findBySession'>;
  sessionEnds: Pick<SessionEnds, 'endSessions'>;
  generations: Pick<SignInGenerations, 'next'>;
  /** Whether this is the first use of a name until then, over all replicas. */
  useOnce(name: string, until: Date): Promise<boolean>;
}): EndUpstreamSessions {
  const { store, sessionEnds, generations, useOnce } = options;
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
    const matches = (session: Partial<UpstreamSession> | undefined) =>
      session?.provider === provider &&
      session.subject === linked.subject &&
      (sid === undefined || session.sid === undefined || session.sid === sid);
    // First: a sign-in that is under way is either found here, or finds that it has come too late.
    await generations.next(linked.userId);
    await sessionEnds.endSessions(
      linked.userId,
      ({ payload }) => matches(payload[UPSTREAM_SESSION] as UpstreamSession | undefined),
      { action: 'session.ended', origin, actor: null, details: { provider } },
    );
  };
}
