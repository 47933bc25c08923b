import { crc32 } from 'node:zlib';
import { timeOfId } from '@gatehouse/core/ids';
import { type DocumentCollection, defineCollection } from '@gatehouse/data/collection';
import { createCounts } from '@gatehouse/data/counts';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { insertNew } from '@gatehouse/data/insert-new';
import { createListPlan } from '@gatehouse/data/list-plan';
import { createListSource } from '@gatehouse/data/list-source';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Condition } from '@gatehouse/domain/list-query';
import { narrowList } from '@gatehouse/domain/narrow-list';
import { LRUCache } from 'lru-cache';
import type { Connection } from 'mongoose';
import {
  isOfRequestId,
  type LoggedRequest,
  REQUEST,
  type RequestField,
  type RequestLogSettings,
  type RequestStore,
} from './request.ts';

export const REQUESTS = 'requests';
/** The share by which an application may exceed its maximum, so that not every write looks for the excess. */
const SLACK = 0.1;
const MAX_KNOWN = 10_000;
/** The requests of an application that only name it, which anybody can send. */
const MAX_NAMED_ONLY = 500;
const NAMED_ONLY = { authenticated: false } as const;

type RequestDocument = StoredOf<typeof REQUEST> & { expires_at: Date };

const { projection, read, write, listFields } = createDocumentMapper(REQUEST);
const LISTS = createListPlan({ fields: listFields });
/** These filters are ranges, with which no index begins: all requests of the caller’s applications are read, then filtered. */
const UNINDEXED = ['path', 'ms'];
const INDEXES = LISTS.indexes.filter(({ fields }) => !UNINDEXED.some((field) => field in fields));

/** The requests of the last days in MongoDB; defines their collection on the connection. */
export function createRequestStore(connection: Connection, settings: RequestLogSettings): RequestStore {
  const { days, rows, successPercent } = settings;
  const maxNamedOnly = Math.min(rows, MAX_NAMED_ONLY);
  const collection = defineCollection<RequestDocument>(connection, REQUESTS, [
    ...INDEXES,
    { fields: { expires_at: 1 }, options: { name: 'expires_at' } },
    {
      fields: { client: 1, authenticated: 1, _id: 1 },
      options: { name: 'named_only', partialFilterExpression: NAMED_ONLY },
    },
  ]);
  const source = createListSource<RequestField, RequestDocument, LoggedRequest>({
    collection: collection as unknown as DocumentCollection,
    plan: LISTS,
    projection,
    read,
    counts: createCounts(),
  });
  /** How many requests of an application were added since its excess was removed, of each kind. */
  const added = new LRUCache<string, number>({ max: MAX_KNOWN });

  /** By its id, so that a batch that comes again keeps the same ones. */
  const isKept = ({ id, code, status }: LoggedRequest): boolean =>
    code !== '' || status >= 400 || crc32(id) % 100 < successPercent;

  /** Those of one kind never displace those of the other. */
  async function removeExcess(client: string, authenticated: boolean): Promise<void> {
    const named = { client, ...NAMED_ONLY };
    // The index of the list does not tell the two kinds of requests apart, so as many more are kept as there are of the other kind.
    const skip = authenticated ? rows + (await collection.countDocuments(named)) : maxNamedOnly;
    const [last] = await collection
      .find(authenticated ? { client } : named, { projection: { _id: 1 } })
      .sort(authenticated ? { client: -1, _id: -1 } : { _id: -1 })
      .skip(skip)
      .limit(1)
      .toArray();
    const kind = authenticated ? { authenticated: { $ne: false } } : NAMED_ONLY;
    if (last !== undefined) await collection.deleteMany({ client, ...kind, _id: { $lte: last._id } });
  }

  return {
    async add(requests) {
      const documents = requests.filter(isKept).map((request) => {
        const expires_at = new Date(timeOfId(request.id).getTime() + days * 86_400_000);
        return { _id: request.id, ...write(request), expires_at } as RequestDocument;
      });
      if (documents.length === 0) return;
      await insertNew(collection, documents);
      for (const [client, ofClient] of Map.groupBy(documents, (it) => it.client)) {
        for (const authenticated of [true, false]) {
          const { length } = ofClient.filter((it) => it.authenticated === authenticated);
          if (length === 0) continue;
          const max = authenticated ? rows : maxNamedOnly;
          const key = `${client} ${authenticated}`;
          // Nothing is known of the time before this process started.
          const since = (added.get(key) ?? max) + length;
          if (since > max * SLACK) await removeExcess(client, authenticated);
          added.set(key, since > max * SLACK ? 0 : since);
        }
      }
    },
    of: (clients) =>
      narrowList(source, async (given) => {
        const values = await clients();
        const own: Condition<RequestField>[] =
          values === 'all' ? [] : [{ field: 'client', operator: 'in', values }];
        // The first one chooses the index.
        return given.some(isOfRequestId)
          ? [...given.filter(isOfRequestId), ...given.filter((it) => !isOfRequestId(it)), ...own]
          : [...own, ...given];
      }),
    async findById(id) {
      const found = await collection.findOne({ _id: id });
      return found === null ? undefined : read(found);
    },
  };
}
