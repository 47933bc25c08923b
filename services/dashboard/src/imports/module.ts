import { CREDENTIAL_POLICY } from '@gatehouse/api/http/identify-caller';
import type { Logger } from '@gatehouse/core/logger';
import type { KeyList } from '@gatehouse/core/sealing';
import { DASHBOARD } from '@gatehouse/core/services';
import { createJobQueues } from '@gatehouse/events/job-queue';
import type { Connection } from 'mongoose';
import type { Connect } from '../api/api.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { ImportEnd } from './import.ts';
import { type ImportKind, UNREACHABLE } from './import-batches.ts';
import { createImportStore, type ImportDocument, LANE } from './import-store.ts';
import { createImportHandler, MAX_ATTEMPTS } from './import-worker.ts';
import { createImports } from './imports.ts';

/** Imports that a process works on at the same time. */
const SLOTS = 4;
/** The longest time of an attempt. The next one goes on where it ends. */
const TIMEOUT_MS = 6 * 3_600_000;
/** The part of the rate limit of the API that an import may use, so that its owner can use the dashboard meanwhile. */
const RATE_SHARE = 0.75;

/** Imports of files: jobs in the database of the dashboard, which no other service knows of. */
export function createImportsModule(
  connection: Connection,
  options: {
    masterKeys: KeyList;
    sessions: Sessions;
    connect: Connect;
    /** How the rows of each resource are imported, by its name. */
    kinds: ReadonlyMap<string, ImportKind>;
    isLimited: boolean;
    logger: Logger;
  },
) {
  const { masterKeys, sessions, connect, kinds, isLimited, logger } = options;
  const { store, collection, expiring } = createImportStore(connection, masterKeys);
  // Other replicas find the jobs of a process that was killed by their sweeps.
  const queue = createJobQueues({ name: DASHBOARD, broadcast: undefined, logger })<ImportDocument, ImportEnd>(
    {
      ...{ name: 'imports', lanes: [LANE] },
      kind: {
        ...{ collection, noun: 'import', mayEndProcess: false },
        changesOf(_job, { outcome, result }) {
          if ('retryInMs' in outcome) return { set: {} };
          return { set: { active: null, ...(result ?? { state: 'stopped', reason: UNREACHABLE }) } };
        },
      },
    },
  );
  const worker = queue.work({
    lane: LANE,
    slots: SLOTS,
    timeoutMs: TIMEOUT_MS,
    maxAttempts: MAX_ATTEMPTS,
    handler: createImportHandler({
      ...{ store, kinds, sessions, connect },
      requestsPerMinute: isLimited ? CREDENTIAL_POLICY.quota * RATE_SHARE : undefined,
    }),
  });
  const announce = (owner: string) =>
    queue.announce({ lane: LANE, priority: 'normal', owner, due: new Date() });
  const imports = createImports({ store, announce });
  return { imports, worker, expiring };
}
