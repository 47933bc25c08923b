import {
  boolean,
  date,
  type EntityOf,
  id,
  type ListFieldOf,
  number,
  text,
  value,
} from '@gatehouse/domain/fields';
import type { Condition, ListSource } from '@gatehouse/domain/list-query';

/** Something that happened, as it is listed and delivered. */
export const EVENT = {
  /** In the order in which events were stored, which is that of the list. */
  id: id(),
  type: text().list(),
  data: value<Readonly<Record<string, unknown>>>(),
  /** When it happened. */
  occurredAt: date(),
  aggregate: text(),
  /** Its place among the events about the aggregate. */
  sequence: number(),
  /** Lists compare each of them. */
  readers: text()
    .list()
    .convert<readonly string[]>({ read: (stored) => stored as never, write: (value) => value as never }),
  /** Whether somebody asked for it, to try what receives events: nothing has happened. */
  test: boolean().default(false),
  /** Unique: the id of what was published, from which it follows. */
  source: text(),
  version: number().default(1),
};
export type StoredEvent = EntityOf<typeof EVENT>;
export type NewEvent = Omit<StoredEvent, 'id' | 'test'> & { test?: true };
export type EventField = ListFieldOf<typeof EVENT>;

export type EventStore = {
  /** Stores an event unless it is known by its source. Resolves to it as it is stored. */
  add(event: NewEvent): Promise<StoredEvent>;
  /** The settled events that meet these conditions, too. */
  where(conditions: () => Promise<readonly Condition<EventField>[]>): ListSource<EventField, StoredEvent>;
  /** The highest id that a list has. */
  latestId(): Promise<string>;
  findById(id: string): Promise<StoredEvent | undefined>;
  findByIds(ids: readonly string[]): Promise<ReadonlyMap<string, StoredEvent>>;
  /** Removes the events that this reader is named in, but for those of a type. */
  removeOf(reader: string, exceptType: string): Promise<void>;
};

/** For how many days events are kept. */
export const KEPT_DAYS = 30;
/** A list ends this long ago, since processes that store events at the same time do not agree on their order to the millisecond. */
export const SETTLED_MS = 1000;
