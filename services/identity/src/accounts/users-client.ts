import {
  type ErrorKind,
  type FieldProblem,
  ServiceError,
  STATUS_OF_KIND,
  unavailable,
} from '@gatehouse/kit/errors';
import type { Account, Accounts } from './account.ts';

/** Longer than users takes for a password in a flood of them, in milliseconds. */
const TIMEOUT = 10_000;

const KIND_OF_STATUS = new Map<number, ErrorKind>(
  Object.entries(STATUS_OF_KIND).map(([kind, status]) => [status, kind as ErrorKind]),
);

/** The accounts over the internal routes of the users service. `token` gives a token for its audience. */
export function createUsersClient(options: { usersUrl: string; token: () => Promise<string> }): Accounts {
  const base = `${options.usersUrl}/internal/users`;

  async function call(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: unknown }> {
    const token = await options.token();
    const response = await fetch(base + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(TIMEOUT),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch((error: unknown) => {
      throw away(error);
    });
    const answer = (await response.json().catch((error: unknown) => {
      throw away(error);
    })) as unknown;
    // That our own token or request is refused is nothing the caller could mend.
    if (response.status >= 500 || response.status === 401) throw away(answer);
    return { status: response.status, body: answer };
  }

  async function required(method: string, path: string, body?: unknown): Promise<Account> {
    const answer = await call(method, path, body);
    if (answer.status >= 400) throw refusal(answer.status, answer.body);
    return answer.body as Account;
  }

  async function perhaps(path: string, body: unknown): Promise<Account | undefined> {
    const answer = await call('POST', path, body);
    if (answer.status >= 400) throw refusal(answer.status, answer.body);
    return (answer.body as { account: Account | null }).account ?? undefined;
  }

  const pathOf = (id: string) => `/accounts/${encodeURIComponent(id)}`;
  return {
    async find(id) {
      const answer = await call('GET', pathOf(id));
      if (answer.status === 404) return undefined;
      if (answer.status >= 400) throw refusal(answer.status, answer.body);
      return answer.body as Account;
    },
    checkPassword: (login, password) => perhaps('/password-checks', { login, password }),
    lookUp: (login) => perhaps('/account-lookups', { login }),
    create: (draft) => required('POST', '/accounts', draft),
    update: (id, changes) => required('PATCH', pathOf(id), changes),
    changePassword: (id, { next, current }) =>
      required('PUT', `${pathOf(id)}/password`, {
        new_password: next,
        ...(current === undefined ? {} : { current_password: current }),
      }),
    verifyEmail: (id, email) => required('PUT', `${pathOf(id)}/verified-email`, { email }),
  };
}

function away(cause: unknown): ServiceError {
  return unavailable('The accounts cannot be reached just now.', cause);
}

/** What users says is wrong with the request, for the person who made it. */
function refusal(status: number, body: unknown): ServiceError {
  const { message, details } = ((body as { error?: unknown })?.error ?? {}) as {
    message?: string;
    details?: FieldProblem[];
  };
  return new ServiceError(KIND_OF_STATUS.get(status) ?? 'internal', message ?? 'The request was refused.', {
    ...(details === undefined ? {} : { details }),
  });
}
