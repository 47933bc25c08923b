import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger, type Logger } from '@gatehouse/core/logger';
import { MongoClient } from 'mongodb';
import type { Test } from 'tap';

/** Write concern under which a write that is acknowledged survives a kill -9. */
export const JOURNALLED = { writeConcern: { w: 1, j: true } };

/** A directory that is removed after the test. */
export async function temporaryDirectory(t: Test): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'gatehouse-test-'));
  t.teardown(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A logger and what it has logged. */
export function recordingLogger(): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  return { logger: createLogger({ name: 'test', readable: false, destination }), lines };
}

/** A client that is closed after the test. */
export async function connect(t: Test, uri: string): Promise<MongoClient> {
  const client = new MongoClient(uri);
  t.teardown(() => client.close());
  return client.connect();
}

/** Waits until the condition holds; false when it does not within the time. */
export async function becomes(condition: () => boolean, limitMs: number): Promise<boolean> {
  const giveUpAt = performance.now() + limitMs;
  while (!condition()) {
    if (performance.now() > giveUpAt) return false;
    await sleep(10);
  }
  return true;
}
