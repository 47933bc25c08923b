import { omitUndefined } from '@gatehouse/core/omit-undefined';
import type { ApplicationStore } from '../application.ts';
import { type Applications, applicationOf } from './application-document.ts';

/** How many applications one query for unwritten revocations returns. */
const BATCH = 100;

/** The epochs of applications, and the revocations that are due because they were raised. */
export function revocations(
  applications: Applications,
): Pick<ApplicationStore, 'raiseEpochsOf' | 'revocationWritten' | 'awaitingRevocation'> {
  return {
    async raiseEpochsOf(owner, ownerEpoch) {
      await applications.updateMany(
        { owner, trusted: false, deleted_at: null, owner_epoch: { $not: { $gte: ownerEpoch } } },
        { $set: { owner_epoch: ownerEpoch, revocation_due: 1 }, $inc: { epoch: 1 } },
      );
    },

    async revocationWritten(id, epoch) {
      const written = { _id: id, epoch };
      const { matchedCount } = await applications.updateOne(
        { ...written, deleted_at: null },
        { $unset: { revocation_due: 1, transfer_due: 1 } },
      );
      if (matchedCount === 0) await applications.deleteOne({ ...written, deleted_at: { $ne: null } });
    },

    async awaitingRevocation(owner) {
      const documents = await applications
        .find({ revocation_due: 1, ...omitUndefined({ owner }) })
        .limit(BATCH)
        .toArray();
      return documents.map((document) => ({
        application: applicationOf(document),
        over: document.deleted_at !== undefined || document.transfer_due === 1,
      }));
    },
  };
}

/** When and from where applications and their secrets were used last. */
export function uses(applications: Applications): Pick<ApplicationStore, 'used' | 'credentialUsed'> {
  return {
    async used(id, { at, address }) {
      await applications.updateOne(
        { _id: id, last_used_at: { $not: { $gte: at } } },
        { $set: { last_used_at: at, last_used_address: address } },
      );
    },

    async credentialUsed(id, list, credentialId, { at, address }) {
      await applications.updateOne(
        { _id: id, [list]: { $elemMatch: { id: credentialId, last_used_at: { $not: { $gte: at } } } } },
        { $set: { [`${list}.$.last_used_at`]: at, [`${list}.$.last_used_address`]: address } },
      );
    },
  };
}
