import { monitored } from '@gatehouse/testing/explain';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import { type Connection, createConnection } from 'mongoose';
import type { Test } from 'tap';

/** A database of its own, on which `define` defines the stores before it is connected. */
export async function withStores<T>(t: Test, define: (connection: Connection) => T) {
  const uri = monitored(await testDatabase(t));
  const { store, ...database } = await startTestDatabase(t, { uri, define });
  return { connection: database.connection, database, logger, ...store };
}

/** A direct look into identity's database, for what only time would do. */
export async function openDatabase(
  t: { teardown(fn: () => unknown): void },
  uri: string,
): Promise<Connection> {
  const connection = await createConnection(uri).asPromise();
  t.teardown(() => connection.close());
  return connection;
}

type Call = { collection: string; filter: object; sort: unknown };

/**
 * Runs an action, and fails for each of its queries that reads a whole collection or sorts in memory. Returns the
 * names of the indexes that serve them.
 */
export async function assertIndexed(
  t: Test,
  connection: Connection,
  action: () => Promise<unknown>,
): Promise<string[]> {
  const calls: Call[] = [];
  const methods =
    /^(?:find|findOne|findOneAnd.+|update(?:One|Many)|delete(?:One|Many)|replaceOne|countDocuments)$/;
  connection.base.set('debug', (collection: string, method: string, ...args: unknown[]) => {
    if (!methods.test(method)) return;
    const options = args.find((arg) => Object.hasOwn(Object(arg), 'sort')) as { sort?: unknown } | undefined;
    calls.push({ collection, filter: args[0] as object, sort: options?.sort });
  });
  try {
    await action();
  } finally {
    connection.base.set('debug', false);
  }
  t.ok(calls.length > 0, 'there were queries');
  const indexes: string[] = [];
  for (const { collection, filter, sort } of calls) {
    const cursor = connection.collection(collection).find(filter);
    if (sort !== undefined) cursor.sort(sort as Record<string, 1>);
    const plan = JSON.stringify(await cursor.explain('queryPlanner'));
    const winning = plan.slice(plan.indexOf('winningPlan'), plan.indexOf('rejectedPlans'));
    const query = `${collection} ${JSON.stringify(filter)} ${JSON.stringify(sort)}`;
    t.match(winning, /IXSCAN|IDHACK|EXPRESS/, query);
    t.notMatch(winning, /COLLSCAN|"stage":"SORT"/, query);
    indexes.push(/"indexName":"([^"]+)"/.exec(winning)?.[1] ?? '_id_');
  }
  return indexes;
}
