import { type FieldProblem, kindOfStatus, ServiceError } from '@gatehouse/core/errors';
import { isUserId } from '@gatehouse/core/ids';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { createBatches } from '@gatehouse/data/batches';
import type { InternalClient } from '@gatehouse/tokens/internal-client';
import type { Account, Accounts } from './account.ts';

/** That one request reads: 100 is the limit of the users service. */
const MAX_ACCOUNTS = 50;

/** The accounts, by way of the internal routes of the users service, of which `internal` is a client. */
export function createUsersClient(internal: InternalClient): Accounts {
  async function required(method: string, path: string, body?: unknown): Promise<Account> {
    const response = await internal.request(method, path, body);
    if (response.status >= 400) throw errorOf(response.status, response.body);
    return response.body as Account;
  }

  async function perhaps(path: string, body: unknown): Promise<Account | undefined> {
    const response = await internal.request('POST', path, body);
    if (response.status >= 400) throw errorOf(response.status, response.body);
    return (response.body as { account: Account | null }).account ?? undefined;
  }

  /** Sign-ins and tokens of the same moment read their accounts with one request. */
  const find = createBatches<string, Account | undefined>({
    max: MAX_ACCOUNTS,
    // A request that hangs holds up nobody else.
    isParallel: true,
    async run(ids) {
      const unique = [...new Set(ids)];
      const query = unique.map(encodeURIComponent).join();
      const response = await internal.request('GET', `/accounts?ids=${query}`);
      if (response.status >= 400) throw errorOf(response.status, response.body);
      const { accounts } = response.body as { accounts: (Account | null)[] };
      const byId = new Map(unique.map((id, i) => [id, accounts[i] ?? undefined]));
      return ids.map((id) => byId.get(id));
    },
  });

  const pathOf = (id: string) => `/accounts/${encodeURIComponent(id)}`;
  return {
    find: async (id) => (isUserId(id) ? find(id) : undefined),
    checkPassword: (login, password) => perhaps('/password-checks', { login, password }),
    async checkCurrentPassword(id, password) {
      const response = await internal.request('POST', `${pathOf(id)}/password-checks`, { password });
      if (response.status >= 400) throw errorOf(response.status, response.body);
    },
    async isBreachedPassword(password) {
      const response = await internal.request('POST', '/password-checks/breached', { password });
      if (response.status >= 400) throw errorOf(response.status, response.body);
      return (response.body as { breached: boolean }).breached;
    },
    lookUp: (login) => perhaps('/account-lookups', { login }),
    create: (draft) => required('POST', '/accounts', draft),
    update: (id, changes) => required('PATCH', pathOf(id), changes),
    async remove(id, by) {
      const response = await internal.request('DELETE', pathOf(id), by);
      if (response.status >= 400) throw errorOf(response.status, response.body);
    },
    changePassword: (id, { next, current, isRecovery, isSetUp }) =>
      required('PUT', `${pathOf(id)}/password`, {
        new_password: next,
        ...omitUndefined({ current_password: current, is_recovery: isRecovery, is_set_up: isSetUp }),
      }),
    revoke: (id, { by, ...change }) => required('POST', `${pathOf(id)}/revocations`, { ...by, ...change }),
    async hasPassword(id) {
      const response = await internal.request('GET', `${pathOf(id)}/password`);
      if (response.status >= 400) throw errorOf(response.status, response.body);
      return (response.body as { exists: boolean }).exists;
    },
    removePassword: (id) => required('DELETE', `${pathOf(id)}/password`),
    verifyEmail: (id, email) => required('PUT', `${pathOf(id)}/verified-email`, { email }),
    restoreEmail: (id, email) => required('PUT', `${pathOf(id)}/restored-email`, { email }),
  };
}

/** The error of the users service, for the person who made the request. */
function errorOf(status: number, body: unknown): ServiceError {
  const { message, details } = ((body as { error?: unknown })?.error ?? {}) as {
    message?: string;
    details?: FieldProblem[];
  };
  return new ServiceError(kindOfStatus(status) ?? 'internal', message ?? 'The request was refused.', {
    ...(details === undefined ? {} : { details }),
  });
}
