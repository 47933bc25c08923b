import { defineCollection } from '@gatehouse/data/collection';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import type { Connection } from 'mongoose';
import type { EventStream } from './event-stream.ts';

type StreamDocument = {
  _id: string;
  client_id: string;
  stream: Omit<EventStream, 'id' | 'clientId' | 'turns'>;
  turns?: number;
};
/** A person of whom an application has heard, or wants to hear nothing. */
type SubjectDocument = {
  _id: string;
  client_id: string;
  account_id: string;
  known_at?: Date;
  removed?: boolean;
};

export type EventStreamStore = ReturnType<typeof createEventStreamStore>;

/** The streams of applications and the people that these have heard of. Writes are durable when they resolve. */
export function createEventStreamStore(connection: Connection) {
  const streams = defineCollection<StreamDocument>(connection, 'event_streams', [
    { fields: { client_id: 1 }, options: { unique: true } },
  ]);
  const subjects = defineCollection<SubjectDocument>(connection, 'event_subjects', [
    { fields: { account_id: 1 } },
    { fields: { client_id: 1 } },
  ]);
  const subjectOf = (clientId: string, accountId: string) => ({ _id: `${clientId} ${accountId}` });
  const change = (clientId: string, account_id: string, set: object) =>
    subjects.updateOne(
      subjectOf(clientId, account_id),
      { $set: { client_id: clientId, account_id, ...set } },
      { upsert: true },
    );

  return {
    /** Returns whether it was inserted: an application has one. */
    async insert({ id: _id, clientId: client_id, turns, ...stream }: EventStream): Promise<boolean> {
      try {
        await streams.insertOne({ _id, client_id, stream, turns });
        return true;
      } catch (error) {
        if (duplicateKeyField(error) !== 'client_id') throw error;
        return false;
      }
    },
    async change({ id: _id, clientId: client_id, turns: _turns, ...stream }: EventStream): Promise<void> {
      await streams.updateOne({ _id, client_id }, { $set: { stream } });
    },
    setTurns: (id: string, turns: number) => streams.updateOne({ _id: id }, { $max: { turns } }),
    find: async (id: string) => read(await streams.findOne({ _id: id })),
    findOf: async (clientId: string) => read(await streams.findOne({ client_id: clientId })),
    ofClients: async (clientIds: readonly string[]) =>
      (await streams.find({ client_id: { $in: [...clientIds] } }).toArray()).flatMap((it) => read(it) ?? []),
    async remove(clientId: string): Promise<void> {
      await streams.deleteMany({ client_id: clientId });
      await subjects.deleteMany({ client_id: clientId });
    },
    /** Notes that an application hears of a person. */
    know: (clientId: string, accountId: string) => change(clientId, accountId, { known_at: new Date() }),
    /** The applications that have heard of a person since a time. */
    async knownBy(accountId: string, since: Date): Promise<string[]> {
      const found = await subjects.find({ account_id: accountId, known_at: { $gte: since } }).toArray();
      return found.map((it) => it.client_id);
    },
    setRemoved: (clientId: string, accountId: string, removed: boolean) =>
      change(clientId, accountId, { removed }),
    isRemoved: async (clientId: string, accountId: string) =>
      (await subjects.findOne(subjectOf(clientId, accountId)))?.removed === true,
    forgetPerson: (accountId: string) => subjects.deleteMany({ account_id: accountId }),
  };
}

function read(document: StreamDocument | null): EventStream | undefined {
  if (document === null) return undefined;
  const { _id: id, client_id: clientId, stream, turns = 0 } = document;
  return {
    ...{ id, clientId, turns },
    ...stream,
    // The database keeps an undefined value as null.
    push: stream.push
      ? { url: stream.push.url, authorization: stream.push.authorization ?? undefined }
      : undefined,
    given: stream.given ?? undefined,
    description: stream.description ?? undefined,
    reason: stream.reason ?? undefined,
  };
}
