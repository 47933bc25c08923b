import { createDatabase, type Database } from '@gatehouse/data/database';
import { logger } from './test-logger.ts';
import { testDatabase } from './test-mongo.ts';

type Connection = Database['connection'];
type TestScope = { teardown(action: () => unknown): void };

/**
 * A database that is started, and stopped after the test, with the store that `define` makes on its connection before.
 * Without `uri` it is one that no other test uses.
 */
export async function startTestDatabase<S = undefined>(
  t: TestScope,
  options: { uri?: string; define?: (connection: Connection) => S } = {},
): Promise<Database & { store: S }> {
  const uri = options.uri ?? (await testDatabase(t));
  const database = createDatabase({ uri, name: 'test', logger });
  t.teardown(() => database.stop());
  const store = options.define?.(database.connection) as S;
  await database.start();
  return { ...database, store };
}
