import type { MetricFamily } from '@gatehouse/core/metrics-text';
import type mongoose from 'mongoose';

/**
 * Counts which connections of a client are in use and which operations wait for one, by the events of the driver
 * (https://github.com/mongodb/specifications/blob/master/source/connection-monitoring-and-pooling/connection-monitoring-and-pooling.md#events),
 * which come whether or not anybody listens. For a client that no operation uses yet.
 *
 * @returns what /metrics says of it
 */
export function observePool(client: mongoose.mongo.MongoClient): () => MetricFamily[] {
  let waiting = 0;
  let inUse = 0;
  client.on('connectionCheckOutStarted', () => {
    waiting += 1;
  });
  client.on('connectionCheckOutFailed', () => {
    waiting -= 1;
  });
  client.on('connectionCheckedOut', () => {
    waiting -= 1;
    inUse += 1;
  });
  client.on('connectionCheckedIn', () => {
    inUse -= 1;
  });
  return () => [
    {
      name: 'gatehouse_mongodb_connections_in_use',
      help: 'Connections to MongoDB with an operation in progress.',
      type: 'gauge',
      samples: [{ value: inUse }],
    },
    {
      name: 'gatehouse_mongodb_operations_waiting',
      help: 'Operations that wait for a connection to MongoDB: each server has 50 at most.',
      type: 'gauge',
      samples: [{ value: waiting }],
    },
  ];
}
