import { ServiceError } from '@gatehouse/core/errors';
import { createKeyedSemaphore } from '@gatehouse/core/keyed-semaphore';
import type { Account, Accounts } from '../../../core/accounts/account.ts';
import type { Audit, AuditEntry } from '../../../core/audit/audit.ts';
import { ACCOUNT_PAGES } from '../account-pages.ts';
import type { PictureStore } from './picture-store.ts';
import { reEncode } from './re-encode.ts';

type By = Pick<AuditEntry, 'origin' | 'actor'>;

/** The use cases of the pictures of accounts. */
export type Pictures = ReturnType<typeof createPictures>;

/** @param options.issuer the origin of the URLs */
export function createPictures({
  store,
  accounts,
  audit,
  issuer,
}: {
  store: Pick<PictureStore, 'put' | 'remove'>;
  accounts: Pick<Accounts, 'update'>;
  audit: Pick<Audit, 'record'>;
  issuer: string;
}) {
  const prefix = `${issuer}${ACCOUNT_PAGES.pictures}/`;
  /** Of a person one at a time, so that the account gets the URL of the picture that is stored. */
  const uploads = createKeyedSemaphore({ permits: 1, maxWaiting: 0 });

  async function change({ id }: Account, picture: string | null, by: By): Promise<void> {
    await accounts.update(id, { picture });
    await audit.record({ ...by, action: 'account.changed', subject: id, details: { fields: ['picture'] } });
  }

  return {
    /** The path of a picture that was uploaded here; undefined if the account has none, or one from elsewhere. */
    pathOf: ({ picture }: Account) =>
      picture?.startsWith(prefix) ? picture.slice(issuer.length) : undefined,
    /** Stores an upload in place of an earlier picture. Throws `invalid`, and `rate_limited` while another one is being stored. */
    async upload(account: Account, file: Buffer, by: By): Promise<void> {
      if (!(await uploads.acquire(account.id, 0))) {
        const headers = { 'retry-after': '1' };
        throw new ServiceError('rate_limited', 'Another picture of yours is being stored.', { headers });
      }
      try {
        const token = await store.put(account.id, await reEncode(file));
        await change(account, prefix + token, by);
      } finally {
        uploads.release(account.id);
      }
    },
    /** Deletes the picture, wherever it is from. */
    async remove(account: Account, by: By): Promise<void> {
      await store.remove(account.id);
      if (account.picture !== null) await change(account, null, by);
    },
  };
}
