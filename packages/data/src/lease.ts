import { newId } from '@gatehouse/core/ids';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import type { Connection } from 'mongoose';
import { duplicateKeyField } from './duplicate-key.ts';

type LeaseDocument = { _id: string; holder: string; until: Date };

export type Lease = {
  /** Aborted when another process has taken the lease, because this one did not renew it in time. */
  lost: AbortSignal;
  release(): Promise<void>;
};

/**
 * Takes a lease that one process at a time can have, and renews it until it is released; undefined while another process has
 * it. The time is that of the database. A process that was suspended may go on for a moment after it has lost the lease, so
 * what it does must be safe to be done twice.
 *
 * @param options.leaseMs after which the lease of a process that was killed ends
 */
export async function holdLease(
  connection: Connection,
  { name, leaseMs }: { name: string; leaseMs: number },
): Promise<Lease | undefined> {
  const leases = connection.collection<LeaseDocument>('leases');
  const holder = newId('lse');
  const lost = new AbortController();

  /** Takes or renews it. Returns whether this process has it. */
  async function take(): Promise<boolean> {
    const isFree = { $or: [{ $eq: ['$holder', holder] }, { $lt: ['$until', '$$NOW'] }] };
    const until = { $add: ['$$NOW', leaseMs] };
    const taken = {
      holder: { $cond: [isFree, holder, '$holder'] },
      until: { $cond: [isFree, until, '$until'] },
    };
    try {
      const lease = await leases.findOneAndUpdate({ _id: name }, [{ $set: taken }], {
        upsert: true,
        returnDocument: 'after',
      });
      return lease?.holder === holder;
    } catch (error) {
      // Another process has inserted it at the same moment.
      if (duplicateKeyField(error) === '_id') return false;
      throw error;
    }
  }

  if (!(await take())) return undefined;
  const renewal = createPeriodicTask({
    async run() {
      if (!(await take())) lost.abort(new Error(`another process has taken the lease ${name}`));
    },
    everyMs: leaseMs / 3,
    // The holder's own operations fail, too. The next renewal may succeed.
    onError: () => {},
  });
  renewal.start();
  return {
    lost: lost.signal,
    async release() {
      await renewal.stop();
      // A lease that is not released expires.
      await leases.deleteOne({ _id: name, holder }).catch(() => {});
    },
  };
}
