import type { Account } from '../../../core/accounts/account.ts';
import type { PersonalDataSection } from '../../../core/extensions.ts';

/**
 * Everything about a person as one JSON object, in pieces as it is read. Resolves when each section could be begun, so that a
 * service that is away fails the request and not the file. Nothing of it is stored.
 */
export async function personalDataOf(
  account: Account,
  sections: readonly PersonalDataSection[],
): Promise<AsyncIterable<string>> {
  const begun = await Promise.all(
    sections.map(async ({ name, rows }) => {
      const iterator = rows(account)[Symbol.asyncIterator]();
      return { name, iterator, first: await iterator.next() };
    }),
  );
  return written(account, begun);
}

type Begun = {
  name: string;
  iterator: AsyncIterator<unknown>;
  first: IteratorResult<unknown>;
};

async function* written(account: Account, sections: readonly Begun[]): AsyncGenerator<string> {
  const { epoch, sign_in_epoch, recovery_epoch, authority_epoch, admin_epoch, ...profile } = account;
  const head = JSON.stringify({ exported_at: new Date(), profile }, null, 2);
  yield head.slice(0, head.lastIndexOf('\n'));
  for (const { name, iterator, first } of sections) {
    yield `,\n  ${JSON.stringify(name)}: [`;
    let separator = '';
    for (let it = first; it.done !== true; it = await iterator.next()) {
      yield `${separator}\n    ${JSON.stringify(it.value)}`;
      separator = ',';
    }
    yield ']';
  }
  yield '\n}\n';
}
