import type { Connection } from 'mongoose';

/**
 * Does something once in the life of a database, such as creating its first account, so that what people change or
 * remove later does not come back with the next start. After a crash in between it is done again, and several
 * processes may do it at the same moment: the action must be safe to repeat.
 */
export async function onceInDatabase(
  connection: Connection,
  name: string,
  action: () => Promise<void>,
): Promise<void> {
  const done = connection.collection<{ _id: string; done_at: Date }>('done_once');
  if ((await done.findOne({ _id: name })) !== null) return;
  await action();
  await done.updateOne({ _id: name }, { $set: { done_at: new Date() } }, { upsert: true });
}
