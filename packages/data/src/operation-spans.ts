import { type Span, startSpan } from '@gatehouse/core/tracing';
import mongoose, { type Connection } from 'mongoose';

type Operation = { _id: object; collectionName: string; method: string };
type EndedOperation = Operation & { result?: unknown; error?: unknown };

/**
 * Records a span for each operation on a collection: its name and that of the collection, and no values. A cursor is open until
 * it is closed. By the events of mongoose and not by those of the driver for commands, for which it would parse each response
 * a second time, also where nothing is sampled.
 */
export function recordOperations(connection: Connection): void {
  const open = new WeakMap<object, Span>();
  connection.on('operation-start', ({ _id, collectionName, method }: Operation) => {
    const span = startSpan(`${method} ${collectionName}`, {
      kind: 'client',
      attributes: {
        'db.system.name': 'mongodb',
        'db.namespace': connection.name,
        'db.collection.name': collectionName,
        'db.operation.name': method,
      },
    });
    if (span !== undefined) open.set(_id, span);
  });
  connection.on('operation-end', ({ _id, result, error }: EndedOperation) => {
    const span = open.get(_id);
    if (result instanceof mongoose.mongo.AbstractCursor) result.once('close', () => span?.end());
    else span?.end({ error });
  });
}
