import type { RequestedBy, RequestInfo } from '@gatehouse/server/requests';
import type { Caller } from './caller.ts';

/** The caller of the request and its origin, for the audit log. */
export function requestedBy(
  { person, clientId, actors }: Pick<Caller, 'person' | 'clientId' | 'actors'>,
  { address, userAgent, id, applied }: Pick<RequestInfo, 'address' | 'userAgent' | 'id' | 'applied'>,
): RequestedBy {
  return {
    user_id: person?.id ?? null,
    client_id: clientId,
    ...(actors && { actors }),
    address,
    user_agent: userAgent ?? null,
    request_id: id,
    ...(applied && { applied }),
  };
}
