import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { type DocumentCollection, defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { insertInSlot } from '@gatehouse/data/slots';
import type { StoredOf } from '@gatehouse/domain/fields';
import { wordsOf } from '@gatehouse/domain/search-words';
import type { Connection, mongo } from 'mongoose';
import {
  APPLICATION,
  type Application,
  type ApplicationCache,
  type ApplicationStore,
  MAX_APPLICATIONS,
  MAX_SECRETS,
  SECRET,
} from '../application.ts';
import { createApplicationLists } from './application-store-list.ts';

type ApplicationDocument = StoredOf<typeof APPLICATION> & {
  /** The words of the name, for searches. */
  words: string[];
  /** From 0 to MAX_APPLICATIONS - 1, unique for an owner, which limits their applications. Absent from deleted ones. */
  slot?: number;
  deleted_at?: Date | null;
  /** People other than the owner who have made something in it. */
  givers?: string[];
  /** The epoch of the owner's account for which this one's was raised last. */
  owner_epoch?: number;
  /** 1 from when the epoch is raised until the revocation has been written. */
  revocation_due?: 1;
  /** 1 from when it gets another owner until its API keys and what people have allowed it have ended. */
  transfer_due?: 1;
};
const mapper = createDocumentMapper(APPLICATION);
const applicationOf = mapper.read;
const secrets = createDocumentMapper(SECRET);

/** How many applications one query for unwritten revocations returns. */
const BATCH = 100;

/** Applications in MongoDB, read through a cache; defines its collection on the connection. */
export function createApplicationStore(connection: Connection, cache: ApplicationCache): ApplicationStore {
  const applications = defineCollection<ApplicationDocument>(connection, 'applications', [
    { fields: { owner: 1, _id: 1 } },
    {
      fields: { owner: 1, slot: 1 },
      options: { unique: true, partialFilterExpression: { slot: { $gte: 0 } } },
    },
    { fields: { words: 1 } },
    { fields: { givers: 1 }, options: { sparse: true } },
    { fields: { revocation_due: 1 }, options: { sparse: true } },
  ]);
  let forgotten = 0;

  /** A read that is under way may return what was there before the change, so it is not cached either. */
  function forget(id: string): void {
    forgotten += 1;
    cache.delete(id);
  }

  /** A write that every later read in this process sees. */
  async function writing<T>(id: string, write: Promise<T>): Promise<T> {
    try {
      return await write;
    } finally {
      forget(id);
    }
  }

  /** Changes an application; undefined when none matches. */
  async function changed(
    id: string,
    filter: mongo.Filter<ApplicationDocument>,
    update: mongo.UpdateFilter<ApplicationDocument>,
  ): Promise<Application | undefined> {
    const changing = applications.findOneAndUpdate(filter, update, { returnDocument: 'after' });
    const document = await writing(id, changing);
    return document === null ? undefined : applicationOf(document);
  }

  const slotsOf = (owner: string | null) =>
    applications.find({ owner, deleted_at: null }, { projection: { slot: 1 } }).toArray();
  const notDeleted = (id: string) => ({ _id: id, deleted_at: null });
  /** As it was read. */
  const unchanged = ({ id, updatedAt }: Application) => ({ ...notDeleted(id), updated_at: updatedAt });

  async function findNow(id: string): Promise<Application | undefined> {
    const before = forgotten;
    const document = await applications.findOne(notDeleted(id));
    if (document === null) {
      cache.delete(id);
      return undefined;
    }
    const application = applicationOf(document);
    if (forgotten === before) cache.set(id, application);
    return application;
  }

  return {
    async insertIfAbsent(application) {
      try {
        await writing(application.id, applications.insertOne(documentOf(application)));
        return true;
      } catch (error) {
        if (duplicateKeyField(error) === '_id') return false;
        throw error;
      }
    },

    insert(application) {
      const { owner } = application;
      return insertInSlot({
        limit: MAX_APPLICATIONS,
        field: 'owner',
        taken: () => slotsOf(owner),
        insert: (slot) =>
          writing(application.id, applications.insertOne({ ...documentOf(application), slot })),
      });
    },

    findById: async (id) => cache.get(id) ?? findNow(id),

    findNow,

    source: createApplicationLists(applications as unknown as DocumentCollection, applicationOf),

    async list({ owner, after, limit }) {
      const documents = await applications
        .find({
          ...omitUndefined({ owner, _id: after && { $gt: after } }),
          deleted_at: null,
        })
        .sort({ _id: 1 })
        .limit(limit)
        .toArray();
      return documents.map(applicationOf);
    },

    change(read, changes, shrinks) {
      const { name, trusted } = changes;
      const { $set, $unset } = mapper.update(changes);
      const words = name === undefined ? {} : { words: wordsOf(name) };
      return changed(read.id, unchanged(read), {
        $set: { ...$set, ...words, updated_at: laterThan(read.updatedAt), revocation_due: 1 },
        $unset: { ...$unset, ...(trusted === false ? { trust: 1 } : {}) },
        ...(shrinks ? { $inc: { epoch: 1 } } : {}),
      });
    },

    async transfer(read, owner) {
      let transferred: Application | undefined;
      const hasRoom = await insertInSlot({
        limit: MAX_APPLICATIONS,
        field: 'owner',
        taken: () => slotsOf(owner),
        async insert(slot) {
          transferred = await changed(read.id, unchanged(read), {
            $set: {
              owner,
              slot,
              trusted: false,
              secrets: [],
              revocation_due: 1,
              transfer_due: 1,
              updated_at: laterThan(read.updatedAt),
            },
            // The epochs of another account say nothing about this one's.
            $unset: {
              ...{ jwks: 1, jwks_given: 1, trust: 1, owner_epoch: 1, backchannel_logout_uri: 1 },
              registrable_scopes: 1,
              givers: 1,
            },
            $inc: { epoch: 1, consent_epoch: 1 },
          });
        },
      });
      return hasRoom ? transferred : 'full';
    },

    async raiseEpochsOf(owner, ownerEpoch) {
      await applications.updateMany(
        { owner, trusted: false, deleted_at: null, owner_epoch: { $not: { $gte: ownerEpoch } } },
        { $set: { owner_epoch: ownerEpoch, revocation_due: 1 }, $inc: { epoch: 1 } },
      );
    },

    async givenBy(person) {
      return (await applications.find({ givers: person, deleted_at: null }).toArray()).map(applicationOf);
    },

    async noteGiver(id, person) {
      await applications.updateOne(notDeleted(id), { $addToSet: { givers: person } });
    },

    // It may be repeated: a deletion that was interrupted is found and completed.
    markDeleted: (id, owner) =>
      changed(
        id,
        { _id: id, ...omitUndefined({ owner }) },
        {
          $set: { deleted_at: new Date(), secrets: [], revocation_due: 1 },
          $inc: { epoch: 1 },
          $unset: { slot: 1 },
        },
      ),

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

    async addSecret({ id, owner }, added) {
      const expired = { expires_at: { $lte: new Date() } };
      await applications.updateOne(notDeleted(id), { $pull: { secrets: expired } });
      const { matchedCount } = await writing(
        id,
        applications.updateOne(
          { ...notDeleted(id), owner, [`secrets.${MAX_SECRETS - 1}`]: { $exists: false } },
          { $push: { secrets: secrets.write(added) } },
        ),
      );
      if (matchedCount > 0) return true;
      const isThere = (await applications.countDocuments({ ...notDeleted(id), owner }, { limit: 1 })) > 0;
      return isThere ? false : undefined;
    },

    removeSecret: (id, secretId) =>
      changed(
        id,
        { ...notDeleted(id), 'secrets.id': secretId },
        { $pull: { secrets: { id: secretId } }, $set: { revocation_due: 1 } },
      ),

    async used(id, { at, address }) {
      await applications.updateOne(
        { _id: id, last_used_at: { $not: { $gte: at } } },
        { $set: { last_used_at: at, last_used_address: address } },
      );
    },

    async secretUsed(id, secretId, { at, address }) {
      await applications.updateOne(
        { _id: id, secrets: { $elemMatch: { id: secretId, last_used_at: { $not: { $gte: at } } } } },
        { $set: { 'secrets.$.last_used_at': at, 'secrets.$.last_used_address': address } },
      );
    },

    forget,
  };
}

/** A time of change that it has not had before. */
function laterThan(before: Date): Date {
  return new Date(Math.max(Date.now(), before.getTime() + 1));
}

function documentOf(application: Application): ApplicationDocument {
  return { _id: application.id, ...mapper.write(application), words: wordsOf(application.name) };
}
