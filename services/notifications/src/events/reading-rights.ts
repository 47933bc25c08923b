import type { Condition } from '@gatehouse/domain/list-query';
import { type Caller, isFirstParty } from '@gatehouse/tokens/caller';
import { MANAGE_APPS, type Role } from '@gatehouse/tokens/scopes';
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

/** A person who owns applications, or a trusted application, which owns itself. Null for one without any rights any more. */
export type Owner = {
  role: Role | 'machine' | null;
  /** The person, if there is one. */
  person: string | null;
  clientIds: readonly string[];
  /** Those, and the applications of others that the person is a member of. */
  visibleIds: readonly string[];
  scopes: readonly string[];
  /** The state that webhooks are checked against. */
  standing: Standing;
};

/** The owner of an application, with that person's epochs; and the valid credentials of the application. */
export type Standing = {
  /** Null if nobody owns it. */
  owner: string | null;
  recovery: number;
  authority: number;
  credentials: readonly OwnedCredential[];
};

/** An API key, client secret or public keys, by which an application is used with the role of whoever gave it. */
export type OwnedCredential = {
  /** Its own, and those of the API keys that it replaced. */
  ids: readonly string[];
  /** Null if it is the operator's. */
  giver: string | null;
  /** Of the account of the giver. */
  epoch: number;
  role: Role | 'machine';
  scopes: readonly string[];
};

/** A credential as it was given once; see Basis in webhooks/webhook.ts. */
export type GivenCredential = {
  keyId: string | null;
  giver?: { id: string | null; epoch: number };
  scopes?: readonly string[];
};

export type FindOwner = (id: string) => Promise<Owner>;
/** `findNow` asks identity; `find` may return what it said some seconds ago. */
export type Owners = { find: FindOwner; findNow: FindOwner };

export type ReadingRights = ReturnType<typeof createReadingRights>;

/** The rights of people, applications and webhooks to read events. */
export function createReadingRights(find: FindOwner) {
  return {
    /**
     * The rights of a webhook. Made by a person on our pages, it reads what all their applications may read. Made with a credential, it
     * reads what the application may read within the scopes of the credential, with the role of its giver.
     */
    async ofWebhook({ reader, basis }: { reader: string; basis: GivenCredential }): Promise<Rights> {
      const { standing, ...owner } = await find(reader);
      const { person, clientIds } = owner;
      const { role, scopes } = basis.keyId === null ? owner : (credentialOf(basis, standing) ?? NOTHING);
      const isFirstParty = person === reader && clientIds.length > 0;
      // A key or a token may have fewer scopes than its application.
      const within = basis.scopes ?? scopes;
      return {
        scopes: new Set(isFirstParty ? [...scopes, MANAGE_APPS] : scopes.filter((it) => within.includes(it))),
        readers: role === null ? [] : readers(role, person ?? reader, clientIds),
        seesActors: basis.keyId === null || role === 'machine',
      };
    },
    /** The person under whose role an application works; null for one that is trusted. */
    personOf: async (clientId: string) => (await find(clientId)).person,
    /** The applications of which a person sees the usage and the requests. */
    visibleIdsOf: async (id: string) => (await find(id)).visibleIds,
    /** The rights of the caller. A first-party token covers all of the caller's applications, any other token its own. */
    async ofCaller(caller: Caller): Promise<Rights> {
      const { scopes, clientId } = caller;
      if (caller.person === undefined)
        return { scopes, readers: readers('machine', clientId, [clientId]), seesActors: true };
      const seesActors = isFirstParty(caller);
      const { id, role } = caller.person;
      if (role === 'admin') return { scopes, readers: readers(role, id, []), seesActors };
      const { clientIds } = await find(id);
      const used = seesActors ? clientIds : clientIds.filter((it) => it === clientId);
      return { scopes, readers: readers(role, id, used), seesActors };
    },
  };
}

const NOTHING = { role: null, scopes: [] };

/** The credential as it is now; undefined when it has ended, somebody else has given it since, or its giver has a higher epoch. */
export function credentialOf(
  { keyId, giver }: GivenCredential,
  { credentials }: Pick<Standing, 'credentials'>,
): OwnedCredential | undefined {
  return credentials.find(
    (it) => keyId !== null && it.ids.includes(keyId) && it.giver === giver?.id && it.epoch <= giver.epoch,
  );
}

function readers(role: Role | 'machine', id: string, clientIds: readonly string[]): string[] {
  // Test events have one reader, the person who asked for them.
  if (role === 'admin') return [ADMIN, personReader(id)];
  const staff = role === 'user' ? [] : [STAFF];
  return [...staff, ANYBODY, personReader(id), ...clientIds.map(ownerOf)];
}

/** Rights to read: the types by the scopes, and of each type the events that name one of the readers. */
export type Rights = {
  scopes: ReadonlySet<string>;
  readers: readonly string[];
  /** An application of a person does not learn which other ones act for the person. */
  seesActors: boolean;
};

export function mayReadType({ scopes }: Pick<Rights, 'scopes'>, name: string): boolean {
  return typeOf(name)?.scopes.some((scope) => scopes.has(scope)) === true;
}

/** Why a webhook with these rights never gets events of this type, as a sentence; null when it may. */
export function unavailableReason(rights: Rights, name: string, basis: GivenCredential): string | null {
  const { scopes: [scope] = [], aboutOthers } = typeOf(name) ?? {};
  if (!mayReadType(rights, name)) {
    if (scope === MANAGE_APPS) {
      return basis.scopes === undefined
        ? 'You have no application yet.'
        : 'Only people get these events, by webhooks that they create in the dashboard.';
    }
    return basis.scopes === undefined
      ? `No application of yours has the scope ${scope}. Add it under Permissions in the settings of an application.`
      : `This credential does not have the scope ${scope}. Add it under Permissions in the settings of the application.`;
  }
  const isStaff = [ADMIN, STAFF].some((it) => rights.readers.includes(it));
  if (aboutOthers !== true || isStaff) return null;
  return 'Events about other people need an admin, an editor, or a token of a trusted application.';
}

export function mayRead(
  rights: Omit<Rights, 'seesActors'>,
  { type, readers }: Pick<StoredEvent, 'type' | 'readers'>,
): boolean {
  return mayReadType(rights, type) && rights.readers.some((reader) => readers.includes(reader));
}

/** An event as somebody with these rights sees it; undefined when they may not read it. */
export function visibleTo(rights: Rights, event: StoredEvent): StoredEvent | undefined {
  return mayRead(rights, event) ? withActors(rights, event) : undefined;
}

/** An event with its actors, or without them. */
export function withActors({ seesActors }: Pick<Rights, 'seesActors'>, event: StoredEvent): StoredEvent {
  if (seesActors || event.data.actors === undefined) return event;
  const { actors: _, ...data } = event.data;
  return { ...event, data };
}

/** The conditions of a list of what may be read. */
export function conditionsOf(rights: Omit<Rights, 'seesActors'>): Condition<EventField>[] {
  const types = EVENT_TYPE_NAMES.filter((name) => mayReadType(rights, name));
  // The first one chooses the index, and there are fewer events of a reader than of a type.
  return [
    { field: 'readers', operator: 'in', values: rights.readers },
    { field: 'type', operator: 'in', values: types },
  ];
}
