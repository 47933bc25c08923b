import { type Caller, requireScope, unauthenticated } from '@gatehouse/tokens/caller';
import t from 'tap';

function callerWith(...scopes: string[]): Caller {
  return {
    subject: 'usr_1',
    clientId: 'cli_1',
    scopes: new Set(scopes),
    person: { id: 'usr_1', role: 'user' },
    expiresAt: 0,
  };
}

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

t.test('without any of them: insufficient_scope, and which would do', async (t) => {
  for (const [label, caller, anyOf] of LACKING) {
    t.throws(
      () => requireScope(caller, anyOf),
      {
        kind: 'forbidden',
        status: 403,
        message: 'This needs the scope read:users or read:all.',
        headers: {
          'www-authenticate':
            'Bearer realm="gatehouse", error="insufficient_scope", scope="read:users read:all"',
        },
      },
      label,
    );
  }
  t.throws(
    () => requireScope(callerWith('a'), []),
    { name: 'ServiceError', kind: 'forbidden' },
    'nothing suffices for nothing',
  );
});

t.test('unauthenticated', async (t) => {
  t.match(unauthenticated('Why.', 'invalid_token'), {
    status: 401,
    message: 'Why.',
    headers: { 'www-authenticate': 'Bearer realm="gatehouse", error="invalid_token"' },
  });
});
