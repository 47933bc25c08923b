import type { Connection } from 'mongoose';

const WRITES = ['insertOne', 'updateOne', 'updateMany', 'deleteOne', 'findOneAndUpdate'];

type Watch = {
  before(collection: string, method: string): void | Promise<void>;
  after?(collection: string, method: string): void | Promise<void>;
};

/** A connection with no models yet, as another process has it. */
export function anotherConnection(connection: Connection): Connection {
  return connection.useDb(connection.name, { useCache: false });
}

/**
 * A connection whose reads of lists and writes wait for `before` and `after`, which may throw. Of a bulk write each one
 * does, since a process or a database may die between any two.
 */
export function watchedConnection(connection: Connection, { before, after }: Watch): Connection {
  const own = anotherConnection(connection);
  const collectionOf = (name: string) =>
    new Proxy(own.collection(name), {
      get(target, property) {
        const value: unknown = Reflect.get(target, property);
        if (typeof value !== 'function') return value;
        const method = String(property);
        const watched = async (run: () => Promise<unknown>) => {
          await before(name, method);
          const result = await run();
          await after?.(name, method);
          return result;
        };
        if (method === 'find') {
          return (...args: unknown[]) => {
            const cursor: { toArray(): Promise<unknown> } = Reflect.apply(value, target, args);
            const toArray = cursor.toArray.bind(cursor);
            return Object.assign(cursor, { toArray: () => watched(toArray) });
          };
        }
        if (method === 'bulkWrite') {
          return async (writes: unknown[], options: object) => {
            let matchedCount = 0;
            for (const [index, write] of writes.entries()) {
              const one = async (): Promise<unknown> => Reflect.apply(value, target, [[write], options]);
              const result = await watched(one).catch((error: unknown) => {
                throw Object.assign(Object(error), { writeErrors: [{ index }] });
              });
              matchedCount += (result as { matchedCount: number }).matchedCount;
            }
            return { matchedCount };
          };
        }
        if (!WRITES.includes(method)) return value.bind(target);
        return (...args: unknown[]) =>
          watched(async (): Promise<unknown> => Reflect.apply(value, target, args));
      },
    });
  return new Proxy(own, {
    get: (target, property) => (property === 'collection' ? collectionOf : Reflect.get(target, property)),
  });
}

/**
 * A connection of a process that dies at its nth write: before it, or after it and before its response. From then on nothing
 * that the process does reaches the database.
 */
export function dyingConnection(
  connection: Connection,
  { nth, when }: { nth: number; when: 'before' | 'after' },
): Connection {
  let writes = 0;
  return watchedConnection(connection, {
    before(_name, method) {
      if (method !== 'find') writes += 1;
      if (writes > nth || (writes === nth && when === 'before')) throw new Error('killed');
    },
    after() {
      if (writes >= nth) throw new Error('killed');
    },
  });
}
