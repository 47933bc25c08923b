import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '@gatehouse/tokens/caller';

/** A person's caller, changed so. */
export function callerWith(change: Partial<Caller> = {}): Caller {
  return {
    subject: 'usr_1',
    clientId: 'cli_1',
    scopes: new Set(),
    person: { id: 'usr_1', role: 'user' },
    expiresAt: Math.floor(Date.now() / 1000) + 600,
    issuedAt: Math.floor(Date.now() / 1000),
    tokenId: 'jti_1',
    grantId: undefined,
    keyId: undefined,
    actor: undefined,
    keyThumbprint: undefined,
    profiles: {},
    epoch: { client: 0, subject: 0 },
    authTime: undefined,
    ...change,
  };
}

/** Sets the wall clock and the monotonic clock forward by this many seconds, for the rest of the test. */
export async function pass(t: { teardown(fn: () => void): void }, seconds: number): Promise<void> {
  for (const clock of [Date, performance]) {
    const { now } = clock;
    t.teardown(() => {
      clock.now = now;
    });
    clock.now = () => now.call(clock) + seconds * 1000;
  }
  // Caches read their clock once in a millisecond.
  await sleep(2);
}
