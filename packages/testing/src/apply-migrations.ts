import { createLogger } from '@gatehouse/core/logger';
import type { Database } from '@gatehouse/data/database';
import { type Migration, migrate } from '@gatehouse/data/migrations';

/** Applies all migrations, also those that have been applied before. */
export async function applyMigrations(connection: Database['connection'], migrations: readonly Migration[]) {
  await connection.collection('migrations').deleteMany({});
  const logger = createLogger({ name: 'test', level: 'fatal', readable: false });
  await migrate(connection, { migrations, apply: true, signal: new AbortController().signal, logger });
}
