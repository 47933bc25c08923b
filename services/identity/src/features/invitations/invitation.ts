import { date, type EntityOf, id, number, object, oneOf, text } from '@gatehouse/domain/fields';
import { MEMBER_ROLES } from '../../core/applications/member.ts';
import { GIVEN } from '../../core/authority/given.ts';

/** An address that may create an account, also where nobody else may. */
export const INVITATION = {
  id: id(),
  email: text(),
  /** The key of the address, of which there is one invitation. */
  emailKey: text(),
  /** The hash of the token in the mailed link. */
  tokenHash: text(),
  /** The id of the admin. */
  invitedBy: text(),
  given: object(GIVEN).optional(),
  /** That of the account. */
  role: oneOf(['user', 'editor', 'admin']).default('user'),
  /** In an application, with its consent epoch at the time, which each transfer raises: another owner did not give it. */
  membership: object({
    clientId: text(),
    role: oneOf(MEMBER_ROLES),
    consentEpoch: number(),
    given: object(GIVEN),
    /** The authority of the admin, which the offer needs until the account is created. */
    invited: object(GIVEN),
  }).optional(),
  createdAt: date(),
  expiresAt: date(),
};
export type Invitation = EntityOf<typeof INVITATION>;

/** How long an invitation can be accepted, in days. */
export const INVITATION_DAYS = 7;
/** The number of invitations that can wait at a time. */
export const MAX_INVITATIONS = 1000;

/** The store of invitations. Writes are durable when they resolve. */
export type InvitationStore = {
  collection: string;
  /** Replaces the invitation of the address; returns false when MAX_INVITATIONS of others wait. */
  put(invitation: Invitation): Promise<boolean>;
  /** Those that can be accepted, the latest first. */
  list(): Promise<Invitation[]>;
  find(tokenHash: string): Promise<Invitation | undefined>;
  /** Takes it, so that it cannot be accepted again; of several concurrent calls, one gets it. */
  take(tokenHash: string): Promise<Invitation | undefined>;
  /** Puts back one that was taken, unless there is another of the address. */
  restore(invitation: Invitation): Promise<void>;
  remove(id: string): Promise<boolean>;
};
