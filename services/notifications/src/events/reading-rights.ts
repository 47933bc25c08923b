import type { Condition } from '@gatehouse/domain/list-query';
import { type Caller, isFirstParty } from '@gatehouse/tokens/caller';
import type { Role } from '@gatehouse/tokens/scopes';
import type { EventField, StoredEvent } from './event.ts';
import {
  ADMIN,
  ANYBODY,
  EVENT_TYPE_NAMES,
  ownerOf,
  person as personReader,
  STAFF,
  typeOf,
} from './event-types.ts';

/** Somebody who owns applications; or an application that is trusted, and owns itself. Null for whoever may do nothing any more. */
export type Owner = {
  role: Role | 'machine' | null;
  /** The person, if there is one. */
  person: string | null;
  clientIds: readonly string[];
  /** Those, and the applications of others that the person is a member of. */
  visibleIds: readonly string[];
  scopes: readonly string[];
};

export type ReadingRights = ReturnType<typeof createReadingRights>;

/** Who may read which events. */
export function createReadingRights(find: (id: string) => Promise<Owner>) {
  return {
    /** What the applications of an owner may read together. */
    async ofOwner(id: string): Promise<Rights> {
      const { role, person, clientIds, scopes } = await find(id);
      return {
        scopes: new Set(scopes),
        readers: role === null ? [] : readers(role, person ?? id, clientIds),
      };
    },
    /** The applications of a person. */
    clientIdsOf: async (id: string) => (await find(id)).clientIds,
    /** The applications of which a person sees the usage and the requests. */
    visibleIdsOf: async (id: string) => (await find(id)).visibleIds,
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
  };
}

function readers(role: Role | 'machine', id: string, clientIds: readonly string[]): string[] {
  if (role === 'admin') return [ADMIN];
  const staff = role === 'user' ? [] : [STAFF];
  return [...staff, ANYBODY, personReader(id), ...clientIds.map(ownerOf)];
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
  const read = { field: 'readers', operator: 'in', values: rights.readers } as const;
  // The first one chooses the index, and there are fewer events of a reader than of a type.
  return [
    ...(rights.readers.includes(ADMIN) ? [] : [read]),
    { field: 'type', operator: 'in', values: types },
  ];
}
