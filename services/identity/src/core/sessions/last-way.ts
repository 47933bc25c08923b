import { ServiceError } from '@gatehouse/core/errors';
import type { Accounts } from '../accounts/account.ts';
import type { SignInMethod } from './sign-in-method.ts';

/** Keeps people from removing the last way to sign in to their account. */
export type LastWay = {
  /** Whether the account can be signed in to in another way than by this: 'password', or the name of a method. */
  hasOther(userId: string, way: string): Promise<boolean>;
  /** Throws `conflict` unless it can. */
  requireOther(userId: string, way: string): Promise<void>;
};

export function createLastWay(options: {
  accounts: Pick<Accounts, 'hasPassword'>;
  methods: readonly Pick<SignInMethod, 'name' | 'isSetUp'>[];
}): LastWay {
  const { accounts, methods } = options;
  async function hasOther(userId: string, way: string): Promise<boolean> {
    if (way !== 'password' && (await accounts.hasPassword(userId))) return true;
    const others = methods.filter(({ name }) => name !== way);
    return (await Promise.all(others.map(({ isSetUp }) => isSetUp(userId)))).includes(true);
  }
  return {
    hasOther,
    async requireOther(userId, way) {
      if (await hasOther(userId, way)) return;
      throw new ServiceError(
        'conflict',
        'This is the only way to sign in to your account. Set up another one before you remove it.',
      );
    },
  };
}
