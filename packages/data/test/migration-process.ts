// `node migration-process.ts URI` migrates the collection of migrations.full.test.ts.
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { type Migration, migrate } from '@gatehouse/data/migrations';

const logger = createLogger({ name: 'test', level: 'info', readable: false });
const database = createDatabase({ uri: process.argv[2] ?? '', name: 'test', logger });
await database.start();

/** Raises a count in each document that does not have this version yet. */
const raise = (version: number): Migration => ({
  version,
  name: `raise to ${version}`,
  run: ({ convertEach }) =>
    convertEach('things', ({ _id }) => [
      {
        updateOne: {
          filter: { _id, version: version - 1 },
          update: [{ $set: { version, count: { $add: ['$count', 1] } } }],
        },
      },
    ]),
});

await migrate(database.connection, {
  migrations: [raise(1), raise(2), raise(3)],
  apply: true,
  signal: new AbortController().signal,
  logger,
  leaseMs: 600,
});
await database.stop();
