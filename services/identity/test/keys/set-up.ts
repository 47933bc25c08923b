import { randomBytes } from 'node:crypto';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import type { Test } from 'tap';
import type { SigningAlgorithm } from '../../src/core/tokens/signing-algorithms.ts';
import { createSigningKeyStore } from '../../src/keys/signing-key-store.ts';
import { createSigningKeySealer, type KeyRing } from '../../src/keys/signing-keys.ts';

/** A database of its own for the test, and what is needed to look into it and to move its clock. */
export async function setUpKeys(t: Test) {
  const uri = await testDatabase(t);
  const { logger, lines } = recordingLogger();
  const database = await startTestDatabase(t, { uri, define: createSigningKeyStore });
  const { store } = database;
  const masterKey = randomBytes(32);
  const sealer = createSigningKeySealer([masterKey]);

  async function ring(algorithm: SigningAlgorithm = 'ES256'): Promise<KeyRing> {
    const found = (await store.all()).find((it) => it.algorithm === algorithm);
    if (found === undefined) throw new Error(`there is no ${algorithm} ring`);
    return found;
  }

  /** The kids of a ring, by state. */
  async function kids(algorithm: SigningAlgorithm = 'ES256') {
    const { keys, dropped } = await ring(algorithm);
    const of = (state: string) => keys.filter((key) => key.state === state).map(({ kid }) => kid);
    return {
      current: of('current').join(),
      next: of('next').join(),
      previous: of('previous'),
      dropped: dropped.map(({ kid }) => kid),
    };
  }

  /** Makes everything that is stored older. */
  async function passSeconds(seconds: number): Promise<void> {
    const back = (date: Date) => new Date(date.getTime() - seconds * 1000);
    const backOrNull = (date: Date | null) => (date === null ? null : back(date));
    for (const { version, keys, dropped, ...ring } of await store.all()) {
      await store.replace({
        ...ring,
        version: version + 1,
        keys: keys.map((key) => ({
          ...key,
          createdAt: back(key.createdAt),
          activatedAt: backOrNull(key.activatedAt),
          retiredAt: backOrNull(key.retiredAt),
        })),
        dropped: dropped.map(({ kid, droppedAt }) => ({ kid, droppedAt: back(droppedAt) })),
      });
    }
  }

  return { uri, database, store, sealer, masterKey, logger, lines, ring, kids, passSeconds };
}
