import { ServiceError } from '@gatehouse/core/errors';
import { holdLease } from '@gatehouse/data/lease';
import type { Connection } from 'mongoose';
import type { Accounts } from '../accounts/account.ts';
import type { SignInMethod } from './sign-in-method.ts';

/** After this, a removal during which its process was killed keeps nobody from the next one. */
const LEASE_MS = 10_000;

/** Keeps people from removing the last way to sign in to their account. */
export type LastWay = {
  /** Whether the account can be signed in to in another way than by this: 'password', or the name of a method. */
  hasOther(userId: string, way: string): Promise<boolean>;
  /**
   * Removes something by which the account is signed in to. An account has one such removal at a time, as two at once would
   * each take the other's way for the one that stays.
   *
   * @param hasMore whether the way stays, since the account has several of its kind
   * @throws ServiceError `conflict` without another way, or during another removal
   */
  removeUnlessLast<T>(
    userId: string,
    way: string,
    remove: () => Promise<T>,
    hasMore?: () => Promise<boolean>,
  ): Promise<T>;
};

export function createLastWay(options: {
  connection: Connection;
  accounts: Pick<Accounts, 'hasPassword'>;
  methods: readonly Pick<SignInMethod, 'name' | 'isSetUp'>[];
}): LastWay {
  const { connection, accounts, methods } = options;
  async function hasOther(userId: string, way: string): Promise<boolean> {
    if (way !== 'password' && (await accounts.hasPassword(userId))) return true;
    const others = methods.filter(({ name }) => name !== way);
    return (await Promise.all(others.map(({ isSetUp }) => isSetUp(userId)))).includes(true);
  }
  return {
    hasOther,
    async removeUnlessLast(userId, way, remove, hasMore = async () => false) {
      const lease = await holdLease(connection, { name: `last way ${userId}`, leaseMs: LEASE_MS });
      if (lease === undefined) {
        const message = 'Another way to sign in is being removed at this moment. Please try again.';
        throw new ServiceError('conflict', message);
      }
      try {
        if ((await hasMore()) || (await hasOther(userId, way))) return await remove();
        throw new ServiceError(
          'conflict',
          'This is the only way to sign in to your account. Set up another one before you remove it.',
        );
      } finally {
        await lease.release();
      }
    },
  };
}
