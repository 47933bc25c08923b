import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { type DocumentCollection, defineCollection, type IndexDefinition } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { laterThan } from '@gatehouse/data/later-than';
import { insertInSlot } from '@gatehouse/data/slots';
import { wordsOf } from '@gatehouse/domain/search-words';
import type { Connection, mongo } from 'mongoose';
import {
  type Application,
  type ApplicationCache,
  type ApplicationStore,
  FEDERATED_CREDENTIAL,
  MAX_APPLICATIONS,
  MAX_FEDERATED,
  MAX_SECRETS,
  SECRET,
} from '../application.ts';
import {
  type ApplicationDocument,
  type Applications,
  applicationOf,
  documentOf,
  mapper,
  notDeleted,
} from './application-document.ts';
import { createApplicationLists } from './application-store-list.ts';
import { revocations, uses } from './application-store-revocations.ts';

const secrets = createDocumentMapper(SECRET);
const federated = createDocumentMapper(FEDERATED_CREDENTIAL);

const INDEXES: readonly IndexDefinition[] = [
  { fields: { owner: 1, _id: 1 } },
  {
    fields: { owner: 1, slot: 1 },
    options: { unique: true, partialFilterExpression: { slot: { $gte: 0 } } },
  },
  { fields: { words: 1 } },
  { fields: { givers: 1 }, options: { sparse: true } },
  { fields: { revocation_due: 1 }, options: { sparse: true } },
];

/** Applications in MongoDB, read through a cache; defines its collection on the connection. */
export function createApplicationStore(connection: Connection, cache: ApplicationCache): ApplicationStore {
  const applications = defineCollection<ApplicationDocument>(connection, 'applications', INDEXES);
  const { findNow, forget, writing } = cachedReads(applications, cache);

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
  /** As it was read. */
  const unchanged = ({ id, updatedAt }: Application) => ({ ...notDeleted(id), updated_at: updatedAt });

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
    ...revocations(applications),
    ...uses(applications),
    ...credentialWrites(applications, { writing, changed }),

    source: createApplicationLists(applications as unknown as DocumentCollection, applicationOf),

    list: (options) => list(applications, options),

    change(read, changes, shrinks) {
      const { name, trusted } = changes;
      const { $set, $unset } = mapper.update(changes);
      const words = name === undefined ? {} : { words: wordsOf(name) };
      return changed(read.id, unchanged(read), {
        $set: { ...$set, ...words, updated_at: laterThan(read), revocation_due: 1 },
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
          transferred = await changed(read.id, unchanged(read), transferTo(owner, slot, read));
        },
      });
      return hasRoom ? transferred : 'full';
    },

    async exchanging(owner) {
      const exchanges = { 'token_exchange.0': { $exists: true } };
      return (await applications.find({ owner, ...exchanges, deleted_at: null }).toArray()).map(
        applicationOf,
      );
    },

    async givenBy(person) {
      return (await applications.find({ givers: person, deleted_at: null }).toArray()).map(applicationOf);
    },

    async noteGiver(id, person) {
      await applications.updateOne(notDeleted(id), { $addToSet: { givers: person } });
    },

    // It may be repeated: a deletion that was interrupted is found and completed.
    markDeleted: (id, { owner, updatedAt: updated_at } = {}) =>
      changed(
        id,
        { _id: id, ...omitUndefined({ owner, updated_at }) },
        {
          $set: { deleted_at: new Date(), secrets: [], federated_credentials: [], revocation_due: 1 },
          $inc: { epoch: 1 },
          $unset: { slot: 1 },
        },
      ),

    forget,
  };
}

/** Reads through a cache, and forgets there what is written. */
function cachedReads(applications: Applications, cache: ApplicationCache) {
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

  return { findNow, forget, writing };
}

/** The update that gives an application to another owner, without its credentials. */
function transferTo(owner: string, slot: number, read: Application): mongo.UpdateFilter<ApplicationDocument> {
  return {
    $set: {
      owner,
      slot,
      trusted: false,
      secrets: [],
      federated_credentials: [],
      revocation_due: 1,
      transfer_due: 1,
      updated_at: laterThan(read),
    },
    // The epochs of another account say nothing about this one's.
    $unset: {
      ...{ jwks: 1, jwks_given: 1, trust: 1, owner_epoch: 1, backchannel_logout_uri: 1 },
      ...{ token_exchange: 1, identity_assertions: 1, identity_assertions_given: 1 },
      ...{ registrable_scopes: 1, protected: 1 },
      givers: 1,
    },
    $inc: { epoch: 1, consent_epoch: 1 },
  };
}

async function list(
  applications: Applications,
  { owner, after, limit }: Parameters<ApplicationStore['list']>[0],
): Promise<Application[]> {
  const documents = await applications
    .find({
      ...omitUndefined({ owner, _id: after && { $gt: after } }),
      deleted_at: null,
    })
    .sort({ _id: 1 })
    .limit(limit)
    .toArray();
  return documents.map(applicationOf);
}

function credentialWrites(
  applications: Applications,
  {
    writing,
    changed,
  }: {
    writing<T>(id: string, write: Promise<T>): Promise<T>;
    changed(
      id: string,
      filter: mongo.Filter<ApplicationDocument>,
      update: mongo.UpdateFilter<ApplicationDocument>,
    ): Promise<Application | undefined>;
  },
): Pick<ApplicationStore, 'addSecret' | 'removeSecret' | 'addFederated' | 'removeFederated' | 'noteKeys'> {
  /** Adds to a list that has fewer than `limit`. */
  async function add(
    { id, owner }: Pick<Application, 'id' | 'owner'>,
    [list, limit]: readonly ['secrets' | 'federated_credentials', number],
    added: object,
  ): Promise<boolean | undefined> {
    const { matchedCount } = await writing(
      id,
      applications.updateOne(
        { ...notDeleted(id), owner, [`${list}.${limit - 1}`]: { $exists: false } },
        { $push: { [list]: added } as object },
      ),
    );
    if (matchedCount > 0) return true;
    const isThere = (await applications.countDocuments({ ...notDeleted(id), owner }, { limit: 1 })) > 0;
    return isThere ? false : undefined;
  }

  return {
    async addSecret(application, added) {
      const expired = { expires_at: { $lte: new Date() } };
      await applications.updateOne(notDeleted(application.id), { $pull: { secrets: expired } });
      return add(application, ['secrets', MAX_SECRETS], secrets.write(added));
    },

    async noteKeys(id, uri, keys) {
      const differs = { 'jwks.uri': uri, 'jwks.keys': { $ne: keys } };
      await writing(id, applications.updateOne({ _id: id, ...differs }, { $set: { 'jwks.keys': keys } }));
    },

    addFederated: (application, added) =>
      add(application, ['federated_credentials', MAX_FEDERATED], federated.write(added)),

    removeFederated: (id, credentialId) =>
      changed(
        id,
        { ...notDeleted(id), 'federated_credentials.id': credentialId },
        {
          $pull: { federated_credentials: { id: credentialId } },
          $set: { revocation_due: 1 },
          $inc: { epoch: 1 },
        },
      ),

    removeSecret: (id, secretId) =>
      changed(
        id,
        { ...notDeleted(id), 'secrets.id': secretId },
        { $pull: { secrets: { id: secretId } }, $set: { revocation_due: 1 } },
      ),
  };
}
