import type { RequestedBy, RequestInfo } from '@gatehouse/server/requests';
import type { Caller } from './caller.ts';

/** The caller of the request and its origin, for the audit log. */
export function requestedBy(
  { person, clientId }: Pick<Caller, 'person' | 'clientId'>,
  { address, userAgent, id }: Pick<RequestInfo, 'address' | 'userAgent' | 'id'>,
): RequestedBy {
  return {
    user_id: person?.id ?? null,
    client_id: clientId,
    address,
    user_agent: userAgent ?? null,
    request_id: id,
  };
}
