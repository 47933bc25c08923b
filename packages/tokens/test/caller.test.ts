import type { ServiceError } from '@gatehouse/core/errors';
import { type Caller, requireScope, unauthenticated } from '@gatehouse/tokens/caller';
import t from 'tap';
import { callerWith as makeCaller } from './callers.ts';

const callerWith = (...scopes: string[]) => makeCaller({ scopes: new Set(scopes) });

t.test('one of the scopes suffices', async (t) => {
  requireScope(callerWith('read:users'), ['read:users']);
  requireScope(callerWith('openid', 'read:all'), ['read:users', 'read:all']);
  t.pass('they do not throw');
});

const LACKING: [label: string, caller: Caller, anyOf: string[]][] = [
  ['none', callerWith(), ['read:users', 'read:all']],
  ['others', callerWith('write:users', 'openid'), ['read:users', 'read:all']],
  ['a prefix', callerWith('read'), ['read:users', 'read:all']],
  ['another case', callerWith('READ:USERS'), ['read:users', 'read:all']],
  ['several in one', callerWith('read:users read:all'), ['read:users', 'read:all']],
];

/** What the caller is refused with, as far as it is told. */
function failure(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    const { kind, status, message, headers } = error as ServiceError;
    return { kind, status, message, headers };
  }
}

t.test('without any of them: insufficient_scope, and which would do', async (t) => {
  const expected = {
    kind: 'forbidden',
    status: 403,
    message: 'This needs the scope read:users or read:all.',
    headers: {
      'www-authenticate': 'Bearer realm="gatehouse", error="insufficient_scope", scope="read:users read:all"',
    },
  };
  for (const [label, caller, anyOf] of LACKING) {
    t.strictSame(
      failure(() => requireScope(caller, anyOf)),
      expected,
      label,
    );
  }
  t.match(
    failure(() => requireScope(callerWith('a'), [])),
    { status: 403 },
    'nothing suffices for nothing',
  );
});

t.test('unauthenticated', async (t) => {
  const CHALLENGES = [
    [undefined, 'Bearer realm="gatehouse"'],
    ['invalid_token', 'Bearer realm="gatehouse", error="invalid_token"'],
    ['invalid_request', 'Bearer realm="gatehouse", error="invalid_request"'],
  ] as const;
  for (const [code, challenge] of CHALLENGES) {
    const { status, message, headers } = unauthenticated('Why.', code);
    t.strictSame([status, message, headers], [401, 'Why.', { 'www-authenticate': challenge }]);
  }
});
