import { unavailable } from '@gatehouse/core/errors';
import type { Condition } from '@gatehouse/domain/list-query';
import { type Caller, isFirstParty } from '@gatehouse/tokens/caller';
import type { InternalClient } from '@gatehouse/tokens/internal-client';
import type { Revocation } from '@gatehouse/tokens/revocations';
import { isRole, type Role } from '@gatehouse/tokens/scopes';
import { LRUCache } from 'lru-cache';
import type { EventField, StoredEvent } from './event.ts';
import { ADMIN, ANYBODY, EVENT_TYPE_NAMES, ownerOf, person, STAFF, typeOf } from './event-types.ts';

/** How long an answer of identity holds, in milliseconds, unless a revocation comes before. */
const KEPT_MS = 10_000;
const MAX_KEPT = 10_000;

/** Somebody who owns applications; or an application that is trusted, and owns itself. Null for whoever may do nothing any more. */
type Owner = { role: Role | 'machine' | null; clientIds: readonly string[]; scopes: readonly string[] };

export type ReadingRights = ReturnType<typeof createReadingRights>;

/** Who may read which events, by way of the internal routes of identity, of which `identity` is a client. */
export function createReadingRights(identity: InternalClient) {
  const known = new LRUCache<string, Owner>({ max: MAX_KEPT, ttl: KEPT_MS });

  async function find(id: string): Promise<Owner> {
    const found = known.get(id);
    if (found !== undefined) return found;
    const { status, body } = await identity.request('GET', `/owned-applications/${encodeURIComponent(id)}`);
    const { role, client_ids: clientIds, scopes } = Object(body) as Record<string, unknown>;
    const isKnown = role === null || role === 'machine' || isRole(role);
    if (status !== 200 || !isKnown || !Array.isArray(clientIds) || !Array.isArray(scopes)) {
      const cause = new Error(`identity answered ${status}`);
      throw unavailable('Your applications cannot be listed at the moment.', cause);
    }
    const owner: Owner = { role, clientIds, scopes };
    known.set(id, owner);
    return owner;
  }

  return {
    /** What the applications of an owner may read together. */
    async ofOwner(id: string): Promise<Rights> {
      const { role, clientIds, scopes } = await find(id);
      return { scopes: new Set(scopes), readers: role === null ? [] : readers(role, id, clientIds) };
    },
    /** What the maker of a request may read: of the own applications, unless it is a first-party one, the one that is used. */
    async ofCaller(caller: Caller): Promise<Rights> {
      const { scopes, clientId } = caller;
      if (caller.person === undefined) return { scopes, readers: readers('machine', clientId, [clientId]) };
      const { id, role } = caller.person;
      if (role === 'admin') return { scopes, readers: [ADMIN] };
      const { clientIds } = await find(id);
      const used = isFirstParty(caller) ? clientIds : clientIds.filter((it) => it === clientId);
      return { scopes, readers: readers(role, id, used) };
    },
    /** Asks again when the rights of a person or an application have changed, whoever owns that. */
    revoked({ kind, id }: Pick<Revocation, 'kind' | 'id'>): void {
      if (kind === 'subject') known.delete(id);
      if (kind === 'client') known.clear();
    },
  };
}

function readers(role: Role | 'machine', id: string, clientIds: readonly string[]): string[] {
  if (role === 'admin') return [ADMIN];
  const staff = role === 'user' ? [] : [STAFF];
  return [...staff, ANYBODY, person(id), ...clientIds.map(ownerOf)];
}

/** What somebody may read: the types by the scopes, and of each the events that name one of the readers. */
export type Rights = { scopes: ReadonlySet<string>; readers: readonly string[] };

export function mayReadType({ scopes }: Pick<Rights, 'scopes'>, name: string): boolean {
  return typeOf(name)?.scopes.some((scope) => scopes.has(scope)) === true;
}

export function mayRead(rights: Rights, { type, readers }: Pick<StoredEvent, 'type' | 'readers'>): boolean {
  return mayReadType(rights, type) && rights.readers.some((reader) => readers.includes(reader));
}

/** The conditions of a list of what may be read. */
export function conditionsOf(rights: Rights): Condition<EventField>[] {
  const types = EVENT_TYPE_NAMES.filter((name) => mayReadType(rights, name));
  return [
    { field: 'type', operator: 'in', values: types },
    ...(rights.readers.includes(ADMIN)
      ? []
      : [{ field: 'readers' as const, operator: 'in' as const, values: rights.readers }]),
  ];
}
