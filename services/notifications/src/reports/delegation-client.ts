import { ServiceError, unavailable } from '@gatehouse/core/errors';
import { PermanentError } from '@gatehouse/events/job';
import type { InternalClient } from '@gatehouse/tokens/internal-client';
import type { DelegatedToken } from './api-reader.ts';

/** Asks identity to read on behalf of a caller who is away later. */
export type DelegationClient = {
  /** Returns the handle of a new delegation. `authorization` is the header of the caller's request. */
  create(authorization: string): Promise<string>;
  /** Tokens by a handle; they throw PermanentError when the delegation has ended. */
  tokens(handle: string): DelegatedToken;
  /** The names of applications by their ids, of those that the caller may see. */
  applicationNames(handle: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
};

/** `identity` is a client of its internal routes. */
export function createDelegationClient(identity: InternalClient): DelegationClient {
  return {
    async create(authorization) {
      const { status, body } = await identity.request('POST', '/delegations', { credential: authorization });
      if (status === 404) {
        throw new ServiceError('unauthenticated', 'The credential is not valid any more.');
      }
      const { handle } = Object(body) as { handle?: unknown };
      if (status !== 201 || typeof handle !== 'string') throw unexpected(status);
      return handle;
    },
    tokens: (handle) => async () => {
      const { status, body } = await identity.request('POST', '/delegations/token', { handle });
      if (status === 404) {
        throw new PermanentError('The credential with which the report was requested is not valid any more.');
      }
      const { access_token: value, expires_in: lifetime } = Object(body) as Record<string, unknown>;
      if (status !== 200 || typeof value !== 'string' || typeof lifetime !== 'number')
        throw unexpected(status);
      return { value, lifetime };
    },
    async applicationNames(handle, ids) {
      const path = '/delegations/application-names';
      const { status, body } = await identity.request('POST', path, { handle, client_ids: ids });
      // The delegation has ended meanwhile. Ids are useful without names, too.
      if (status === 404) return new Map();
      const { names } = Object(body) as { names?: Record<string, string> };
      if (status !== 200 || typeof names !== 'object') throw unexpected(status);
      return new Map(Object.entries(names));
    },
  };
}

function unexpected(status: number): ServiceError {
  return unavailable(
    'The identity service cannot answer at the moment.',
    new Error(`unexpected answer, status ${status}`),
  );
}
