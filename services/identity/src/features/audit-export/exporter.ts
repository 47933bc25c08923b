import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask, type PeriodicTask } from '@gatehouse/core/periodic';
import { holdLease } from '@gatehouse/data/lease';
import { connectionFailure } from '@gatehouse/outbound/connection-failure';
import { createOutbound } from '@gatehouse/outbound/outbound';
import { retryAfter } from '@gatehouse/outbound/retry-after';
import type { Connection } from 'mongoose';
import type { AuditRecord, AuditStore } from '../../core/audit/audit.ts';
import type { Destination } from './destinations.ts';

const POLL_MS = 1000;
/** The lifetime of the lease of the replica that exports. If this replica is killed, another one continues after it. */
const LEASE_MS = 10_000;
const BATCH = 100;
const PAUSE_MS = { first: 1000, max: 60_000 };
const MAX_RETRY_AFTER_MS = 300_000;
/** The statuses of a receiver, or a firewall in front of it, that can be about some of the entries: each is then sent by itself. */
const REFUSALS = [400, 403, 413, 422];
/** The time before their expiry at which entries count as lost. It is longer than any pause, since the database removes expired entries. */
const EXPIRING_MS = 2 * MAX_RETRY_AFTER_MS;
/** The size of a response, which can say how many entries the receiver has rejected. */
const MAX_RESPONSE_BYTES = 64 * 1024;

export type AuditExporter = Pick<PeriodicTask, 'start' | 'stop'> & {
  destination: string;
  state(): { exported: number; rejected: number; expired: number; behindSeconds: number };
};

/**
 * Sends the entries of the audit log to a destination, each at least once. The first write of an entry has a mark for the destination, which
 * is removed after a 2xx response. After any other outcome, entries are sent again, for as long as the log keeps them. One replica at a
 * time sends.
 */
export function createAuditExporter(options: {
  connection: Connection;
  store: Pick<AuditStore, 'waiting' | 'removeMark'>;
  destination: Destination;
  logger: Logger;
}): AuditExporter {
  const { connection, store, destination } = options;
  const { name } = destination;
  const logger = options.logger.child({ destination: name });
  const outbound = createOutbound({ to: 'configured', maxBytes: MAX_RESPONSE_BYTES });
  const counts = { exported: 0, rejected: 0, expired: 0 };
  let oldest: Date | undefined;

  async function nextBatch(size = BATCH, after = ''): Promise<AuditRecord[]> {
    const entries = await store.waiting(name, size, after);
    if (after === '') oldest = entries[0]?.at;
    return entries;
  }

  async function dropExpiring(entries: readonly AuditRecord[]): Promise<boolean> {
    const limit = new Date(Date.now() + EXPIRING_MS);
    const lost = entries.filter(({ expiresAt }) => expiresAt < limit).map(({ id }) => id);
    if (lost.length === 0) return false;
    await store.removeMark(name, lost);
    counts.expired += lost.length;
    const about = { lost: lost.length, first: lost[0], last: lost.at(-1) };
    logger.error(about, 'entries of the audit log expired before they were exported');
    return true;
  }

  /** A partial success must not be sent again: https://opentelemetry.io/docs/specs/otlp/#partial-success-1 */
  function countAccepted(body: string, sent: number): void {
    const [, text = '0'] = /"rejectedLogRecords":\s*"?(\d+)/.exec(body) ?? [];
    const rejected = Math.min(Number(text), sent);
    counts.exported += sent - rejected;
    counts.rejected += rejected;
    if (rejected > 0) logger.error({ rejected }, 'the receiver has rejected entries of the audit log');
  }

  async function exportAll(signal: AbortSignal): Promise<void> {
    let failures = 0;
    let size = BATCH;
    // The last entry that was refused by itself: it is sent again after the others.
    let after = '';
    const next = () => nextBatch(size, after);
    for (let entries = await next(); entries.length > 0; entries = await next()) {
      if (await dropExpiring(entries)) continue;
      const result = await send(outbound, destination, entries, signal);
      if ('body' in result) {
        countAccepted(result.body, entries.length);
        failures = 0;
        size = Math.min(size * 2, BATCH);
        await store.removeMark(
          name,
          entries.map(({ id }) => id),
        );
        continue;
      }
      if (signal.aborted) return;
      const pauseMs = Math.max(Math.min(PAUSE_MS.first * 2 ** failures, PAUSE_MS.max), result.leastMs);
      const [{ id: first } = { id: after }] = entries;
      if (result.isRefusal !== true) failures += 1;
      else if (entries.length === 1) after = first;
      else size = Math.ceil(entries.length / 2);
      const about = { reason: result.reason, first, count: entries.length, pauseMs };
      logger.warn(about, 'the audit log could not be exported; trying again');
      await sleep(pauseMs, undefined, { signal, ref: false });
    }
  }

  const task = createPeriodicTask({
    immediately: true,
    everyMs: POLL_MS,
    async run(signal) {
      if ((await nextBatch()).length === 0) return;
      const lease = await holdLease(connection, { name: `audit export ${name}`, leaseMs: LEASE_MS });
      if (lease === undefined) return;
      await exportAll(AbortSignal.any([signal, lease.lost])).finally(lease.release);
    },
    onError: (error) => logger.warn({ err: error }, 'the audit log could not be exported; trying again'),
  });
  return {
    ...{ start: task.start, stop: task.stop },
    destination: name,
    state() {
      const behindMs = oldest === undefined ? 0 : Math.max(0, Date.now() - oldest.getTime());
      return { ...counts, behindSeconds: behindMs / 1000 };
    },
  };
}

/** The body of a response that accepts the entries; else the reason, and the pause that the receiver asks for. */
async function send(
  outbound: Pick<ReturnType<typeof createOutbound>, 'fetch'>,
  { url, requestOf }: Destination,
  entries: readonly AuditRecord[],
  signal: AbortSignal,
): Promise<{ body: string } | { reason: string; leastMs: number; isRefusal?: boolean }> {
  try {
    const response = await outbound.fetch(url, { method: 'POST', ...requestOf(entries), signal });
    if (response.ok) return { body: await response.text().catch(() => '') };
    await response.body?.cancel();
    const leastMs = retryAfter(response.headers, MAX_RETRY_AFTER_MS) ?? 0;
    const isRefusal = REFUSALS.includes(response.status);
    return { reason: `it responded with ${response.status}`, leastMs, isRefusal };
  } catch (error) {
    // The error itself is left out, since it can contain the URL.
    return { reason: connectionFailure(error) ?? 'the connection failed', leastMs: 0 };
  }
}
