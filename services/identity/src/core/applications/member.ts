import { boolean, date, type EntityOf, id, object, oneOf, text } from '@gatehouse/domain/fields';
import { GIVEN, type Given } from '../authority/given.ts';

export const MEMBER_ROLES = ['viewer', 'developer'] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

/** Somebody who takes part in the application of somebody else, or is invited to. */
export const MEMBER = {
  id: id(),
  clientId: text(),
  userId: text(),
  role: oneOf(MEMBER_ROLES),
  /** The person who added the member. */
  given: object(GIVEN),
  /** The same person, with the authority that the invitation rests on until it is accepted. */
  invited: object(GIVEN).optional(),
  createdAt: date(),
  /** Whether the person has not accepted yet. */
  isPending: boolean(),
  /** The person's authority when they accepted. Undefined until then. */
  accepted: object(GIVEN).optional(),
};
export type Member = EntityOf<typeof MEMBER>;

/**
 * The most members of an application, memberships of a person, and invitations that wait for a person. Of those, the oldest of whoever
 * has sent the most gives way to one of somebody who has sent fewer.
 */
export const MAX_MEMBERS = 50;
export const MAX_MEMBERSHIPS = 100;
export const MAX_INVITED = 20;
/** The most of those invitations by one person who is not an admin, so that nobody fills the place of others. */
export const MAX_INVITED_BY_ONE = 5;

/** The store of members. Writes are durable when they resolve. */
export type MemberStore = {
  collection: string;
  find(clientId: string, userId: string): Promise<Member | undefined>;
  /** In the order in which they were added. */
  of(clientId: string): Promise<Member[]>;
  /** A person's memberships, including invitations that they have not accepted. */
  ofPerson(userId: string): Promise<Member[]>;
  /**
   * Invites somebody, or changes the role of a member. Throws `conflict` when there are MAX_MEMBERS, or as many invitations wait for the
   * person as may, from all or from this inviter.
   */
  put(
    member: Pick<Member, 'clientId' | 'userId' | 'role'> & Record<'given' | 'invited', Given>,
    inviter: { id: string; limit: number },
  ): Promise<void>;
  /** Changes who gave a membership, if there still is one. */
  setGiven(clientId: string, userId: string, given: Given): Promise<void>;
  /** Accepts an invitation, or a membership that was accepted with less than this authority; returns false when there is none. */
  accept(clientId: string, userId: string, accepted: Given): Promise<boolean>;
  /** Returns whether there was one. */
  remove(clientId: string, userId: string): Promise<boolean>;
  removeAllOf(clientId: string): Promise<void>;
  removePerson(userId: string): Promise<void>;
};
