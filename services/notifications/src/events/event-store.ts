import { leastIdAt, newId } from '@gatehouse/core/ids';
import { createBatches } from '@gatehouse/data/batches';
import { type DocumentCollection, defineCollection } from '@gatehouse/data/collection';
import { createCounts } from '@gatehouse/data/counts';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { insertNew } from '@gatehouse/data/insert-new';
import { createListPlan } from '@gatehouse/data/list-plan';
import { createListSource } from '@gatehouse/data/list-source';
import type { StoredOf } from '@gatehouse/domain/fields';
import { narrowList } from '@gatehouse/domain/narrow-list';
import type { Connection } from 'mongoose';
import {
  EVENT,
  type EventField,
  type EventStore,
  KEPT_DAYS,
  type NewEvent,
  SETTLED_MS,
  type StoredEvent,
} from './event.ts';

export const EVENTS = 'events';
const MAX_BATCH = 200;

type EventDocument = StoredOf<typeof EVENT> & { expires_at: Date };

const { projection, read, write, listFields } = createDocumentMapper(EVENT);
const LISTS = createListPlan({ fields: listFields });

const settledId = () => leastIdAt('evt', new Date(Date.now() - SETTLED_MS));

/** The events of the last days in MongoDB; defines their collection on the connection. */
export function createEventStore(connection: Connection): EventStore {
  const collection = defineCollection<EventDocument>(connection, EVENTS, [
    ...LISTS.indexes,
    { fields: { source: 1 }, options: { name: 'source', unique: true } },
    { fields: { expires_at: 1 }, options: { name: 'expires_at' } },
  ]);
  const source = createListSource<EventField, EventDocument, StoredEvent>({
    collection: collection as unknown as DocumentCollection,
    plan: LISTS,
    projection,
    read,
    counts: createCounts(),
  });

  const add = createBatches<NewEvent, StoredEvent>({
    max: MAX_BATCH,
    async run(events) {
      const expires_at = new Date(Date.now() + KEPT_DAYS * 86_400_000);
      const documents = events.map((event) => {
        const _id = newId('evt');
        return { _id, ...write({ test: false, ...event, id: _id }), expires_at } as EventDocument;
      });
      const isNew = await insertNew(collection, documents);
      const known = documents.filter((_, i) => !isNew[i]).map((it) => it.source);
      const found = known.length === 0 ? [] : await collection.find({ source: { $in: known } }).toArray();
      const bySource = new Map(found.map((it) => [it.source, it]));
      return documents.map((it) => read(bySource.get(it.source) ?? it));
    },
  });

  return {
    add,
    where: (conditions) =>
      narrowList(source, async (given) => {
        return [...(await conditions()), ...given, { field: 'id', operator: 'lt', values: [settledId()] }];
      }),
    async latestId() {
      const last = await collection.findOne(
        { _id: { $lt: settledId() } },
        { sort: { _id: -1 }, projection: {} },
      );
      return last?._id ?? leastIdAt('evt', new Date(0));
    },
    async findById(id) {
      const found = await collection.findOne({ _id: id });
      return found === null ? undefined : read(found);
    },
    async findByIds(ids) {
      const found = await collection.find({ _id: { $in: [...ids] } }).toArray();
      return new Map(found.map((it) => [it._id, read(it)]));
    },
    async removeOf(reader, exceptType) {
      await collection.deleteMany({ readers: reader, type: { $ne: exceptType } });
    },
  };
}
