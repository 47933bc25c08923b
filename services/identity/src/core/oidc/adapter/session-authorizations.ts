import { isDeepStrictEqual } from 'node:util';
import type { Adapter, AdapterPayload } from 'oidc-provider';

/** The authorizations of a session, and what they were when it was read. */
type Authorizations = Readonly<Record<string, unknown>>;
export type ReadSession = { authorizations?: Authorizations; knownAuthorizations?: Authorizations };

/** A client's id as the name of a field. */
const clientField = (id: string) => `authorizations.${encodeURIComponent(id).replaceAll('.', '%2E')}`;

/**
 * The changes of a request in the authorizations of a session. Another tab may do the same with what it has read before: each
 * writes its own changes only, as a sign-out ends what the session knows.
 */
export function authorizationChanges({ authorizations = {}, knownAuthorizations: known = {} }: ReadSession) {
  const changed = Object.entries(authorizations).filter(([id, it]) => !isDeepStrictEqual(it, known[id]));
  const removed = Object.keys(known).filter((id) => !Object.hasOwn(authorizations, id));
  return {
    set: Object.fromEntries(changed.map(([id, it]) => [clientField(id), JSON.stringify(it)])),
    unset: Object.fromEntries(removed.map((id) => [clientField(id), 1 as const])),
  };
}

/** A session that is read remembers its authorizations, so that it is known what the request changes. */
export function knowingAuthorizations(
  payload: Awaited<ReturnType<Adapter['find']>>,
): AdapterPayload | undefined {
  if (!payload) return undefined;
  return { ...payload, knownAuthorizations: structuredClone(payload.authorizations) };
}
