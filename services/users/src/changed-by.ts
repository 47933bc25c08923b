import type { RequestInfo } from '@gatehouse/kit/requests';
import type { Caller } from '@gatehouse/tokens/caller';
import type { ChangedBy } from './user.ts';

/** Who makes the change that a request asks for. */
export function changedBy({ person, clientId }: Caller, { address, id }: RequestInfo): ChangedBy {
  return { userId: person?.id ?? null, clientId, address, requestId: id };
}
