import { type Built, MACHINE, NATIVE } from './build.ts';
import { staleToken, tokensFor } from './tokens.ts';

/** Whoever may ask for an act of support on an account, or may not. */
export type Caller =
  | 'nobody'
  | 'the person'
  | 'somebody else'
  | 'an editor'
  | 'an admin'
  | 'an admin who signed in six minutes ago'
  | 'an application of an admin'
  | 'a machine';

/** Their tokens. `person` is the username of the one whose account it is. */
export async function callers(
  built: Built,
  { masterKey, person }: { masterKey: Buffer; person: string },
): Promise<Record<Caller, string | undefined>> {
  await built.createPerson('edith', 'editor');
  const admin = await built.login('admin');
  const { access_token } = await tokensFor(built, { client: NATIVE, username: 'admin' });
  return {
    nobody: undefined,
    'the person': await built.login(person),
    'somebody else': await built.login('ann'),
    'an editor': await built.login('edith'),
    'an admin': admin,
    'an admin who signed in six minutes ago': await staleToken(built, masterKey, admin),
    'an application of an admin': access_token,
    'a machine': await built.machineToken(MACHINE),
  };
}
