import type { Connection } from 'mongoose';

/**
 * Runs an action once in the lifetime of a database, such as creating the first account, so that later changes and
 * deletions are not undone by the next start. The action must be idempotent: it is repeated after a crash, and several
 * processes may run it at the same time.
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
