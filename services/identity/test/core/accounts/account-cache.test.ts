import t from 'tap';
import type { Account } from '../../../src/core/accounts/account.ts';
import { createAccountCache } from '../../../src/core/accounts/account-cache.ts';

const accountOf = (epoch: number) => ({ id: 'usr_ann', epoch }) as Account;

t.test('an account that has changed is read again', async (t) => {
  let stored: Account | undefined = accountOf(1);
  let reads = 0;
  const cache = createAccountCache({
    async find() {
      reads += 1;
      return stored;
    },
  });
  t.same(await cache.find('usr_ann'), accountOf(1));
  stored = accountOf(2);
  t.same(await cache.find('usr_ann'), accountOf(1), 'it is kept');
  t.equal(reads, 1);
  cache.forget('usr_ann');
  t.same(await cache.find('usr_ann'), accountOf(2), 'it is forgotten');
  stored = undefined;
  cache.forget('usr_ann');
  t.equal(await cache.find('usr_ann'), undefined);
  stored = accountOf(3);
  t.same(await cache.find('usr_ann'), accountOf(3), 'that there was none is not kept');
});

t.test('an account that was read before a change is not kept after it', async (t) => {
  const reads: ((account: Account) => void)[] = [];
  const cache = createAccountCache({ find: () => new Promise((resolve) => reads.push(resolve)) });
  const before = cache.find('usr_ann');
  cache.forget('usr_ann');
  reads.pop()?.(accountOf(1));
  await before;
  const after = cache.find('usr_ann');
  reads.pop()?.(accountOf(2));
  t.same(await after, accountOf(2));
});
