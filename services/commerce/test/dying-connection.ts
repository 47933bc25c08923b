import type { Connection } from 'mongoose';

const WRITES = ['insertOne', 'updateOne', 'updateMany', 'deleteOne', 'findOneAndUpdate', 'bulkWrite'];

/** A connection with no models yet, as another process has it. */
export function anotherConnection(connection: Connection): Connection {
  return connection.useDb(connection.name, { useCache: false });
}

/**
 * A connection of a process that dies at its nth write: before it, or after it and before its response. From then on nothing
 * that the process does reaches the database.
 */
export function dyingConnection(
  connection: Connection,
  { nth, when }: { nth: number; when: 'before' | 'after' },
): Connection {
  const own = anotherConnection(connection);
  let writes = 0;
  const collectionOf = (name: string) =>
    new Proxy(own.collection(name), {
      get(target, property) {
        const value = Reflect.get(target, property);
        if (typeof value !== 'function') return value;
        if (!WRITES.includes(String(property))) return value.bind(target);
        return async (...args: unknown[]) => {
          writes += 1;
          const place = writes;
          if (place > nth || (place === nth && when === 'before')) throw new Error('killed');
          const result: unknown = await Reflect.apply(value, target, args);
          // Also of a write that was on its way, the response does not come any more.
          if (writes >= nth) throw new Error('killed');
          return result;
        };
      },
    });
  return new Proxy(own, {
    get: (target, property) => (property === 'collection' ? collectionOf : Reflect.get(target, property)),
  });
}
