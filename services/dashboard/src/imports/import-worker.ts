import { createHmac } from 'node:crypto';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import type { Attempt, Job } from '@gatehouse/events/job';
import type { Connect } from '../api/api.ts';
import { MAX_CONCURRENT } from '../api/concurrently.ts';
import { SignInEnded } from '../sessions/oauth-client.ts';
import { hasRole, type Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Import, ImportEnd, ImportStore } from './import.ts';
import {
  checkRows,
  ImportEnded,
  type ImportKind,
  type ImportWork,
  importRows,
  UNREACHABLE,
} from './import-batches.ts';

/** With the pauses between them, they take more than a minute. */
export const MAX_ATTEMPTS = 7;
/** How often it is asked whether the import was cancelled, and whether its session still permits it. */
const WATCH_MS = 500;
const SIGNED_OUT = 'The session in which it was started has ended.';
const NOT_PERMITTED = 'Your role does not permit it any more.';

/**
 * Checks or imports the file of a job as the person in whose session it was started: an import has no credential of its own, and ends
 * with that session, or when the person no longer has the role.
 *
 * @param options.requestsPerMinute how many requests of the person an import may make; undefined for no limit
 */
export function createImportHandler(options: {
  store: ImportStore;
  kinds: ReadonlyMap<string, ImportKind>;
  sessions: Pick<Sessions, 'resume' | 'renew'>;
  connect: Connect;
  requestsPerMinute: number | undefined;
}): (job: Pick<Job, 'id' | 'attempt' | 'holder'>, attempt: Attempt<ImportEnd>) => Promise<void> {
  const { store, kinds, sessions, connect, requestsPerMinute } = options;
  const rowMs = requestsPerMinute === undefined ? 0 : (MAX_CONCURRENT * 60_000) / requestsPerMinute;

  async function perform(it: Import, job: Pick<Job, 'attempt' | 'holder'>, signal: AbortSignal) {
    const kind = kinds.get(it.kind);
    if (kind === undefined) throw new ImportEnded('stopped', 'This deployment does not have this part.');
    const permitted = (found: Session | undefined): Session => {
      if (found === undefined) throw new ImportEnded('stopped', SIGNED_OUT);
      if (!hasRole(found.person, kind.role)) throw new ImportEnded('stopped', NOT_PERMITTED);
      return found;
    };
    let session = permitted(await sessions.resume(it.session, it.cause));
    const ended = new AbortController();
    const watch = createPeriodicTask({
      everyMs: WATCH_MS,
      async run() {
        if ((await store.find(it.id))?.state !== 'running') throw new ImportEnded('cancelled');
        session = permitted(await sessions.resume(it.session, it.cause));
      },
      onError(error) {
        if (error instanceof ImportEnded) ended.abort(error);
      },
    });
    const work: ImportWork = {
      ...{ it, kind, store, rowMs, signal: AbortSignal.any([signal, ended.signal]) },
      apiFor(part) {
        const tokens = async (refused?: string) => {
          if (refused === session.tokens.access) session = permitted(await sessions.renew(session, it.cause));
          return session.tokens.access;
        };
        return connect(tokens, it.cause, `${it.id}-${part}`);
      },
      secretFor: (part) => createHmac('sha256', it.secret).update(part).digest('base64url'),
      advance: (counts) => store.advance(it.id, job.holder, counts),
    };
    watch.start();
    try {
      if (it.phase === 'check') return await checkRows(work);
      const later = await importRows(work);
      if (later > 0 && job.attempt < MAX_ATTEMPTS) throw new Error(UNREACHABLE);
    } catch (error) {
      throw ended.signal.aborted ? ended.signal.reason : error;
    } finally {
      await watch.stop();
    }
  }

  return async (job, { signal, note }) => {
    try {
      const it = await store.find(job.id);
      if (it?.state !== 'running') throw new ImportEnded('cancelled');
      await perform(it, job, signal);
      note({ state: 'done', reason: null });
    } catch (error) {
      const end = error instanceof SignInEnded ? new ImportEnded('stopped', SIGNED_OUT) : error;
      if (!(end instanceof ImportEnded)) throw error;
      note({ state: end.state, reason: end.message || null });
    }
  };
}
