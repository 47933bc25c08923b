import { date, type EntityOf, id, oneOf, text } from '@gatehouse/domain/fields';

/**
 * What somebody may do with an application, each also what those before may: see it and its figures; change it and its
 * credentials; delete it, transfer it and choose its members. Only its members have a role that is stored.
 */
export const APPLICATION_ROLES = ['viewer', 'developer', 'owner'] as const;
export type ApplicationRole = (typeof APPLICATION_ROLES)[number];
export const MEMBER_ROLES = ['viewer', 'developer'] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

/** Somebody who takes part in the application of somebody else. */
export const MEMBER = {
  id: id(),
  clientId: text(),
  userId: text(),
  role: oneOf(MEMBER_ROLES),
  createdAt: date(),
};
export type Member = EntityOf<typeof MEMBER>;

/** How many members an application has, and of how many applications somebody is a member, at most. */
export const MAX_MEMBERS = 50;
export const MAX_MEMBERSHIPS = 100;

/** The store of members. Writes are durable when they resolve. */
export type MemberStore = {
  collection: string;
  find(clientId: string, userId: string): Promise<Member | undefined>;
  /** In the order in which they were added. */
  of(clientId: string): Promise<Member[]>;
  /** The client ids of the applications that somebody is a member of. */
  clientIdsOf(userId: string): Promise<string[]>;
  /** Adds a member, or changes the role of one; returns false when there are MAX_MEMBERS. */
  put(clientId: string, userId: string, role: MemberRole): Promise<boolean>;
  /** Returns whether there was one. */
  remove(clientId: string, userId: string): Promise<boolean>;
  removeAllOf(clientId: string): Promise<void>;
  removePerson(userId: string): Promise<void>;
};
