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
    keyThumbprint: undefined,
    profiles: {},
    epoch: { client: 0, subject: 0 },
    authTime: undefined,
    ...change,
  };
}

/** Lets this many seconds pass, for the rest of the test. */
export function pass(t: { teardown(fn: () => void): void }, seconds: number): void {
  const clock = Date.now;
  t.teardown(() => {
    Date.now = clock;
  });
  Date.now = () => clock() + seconds * 1000;
}
