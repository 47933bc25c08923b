import { type EntityOf, number, oneOf, text } from '@gatehouse/domain/fields';

/**
 * The person who gave a capability, and the sum of the epochs of their account that it rests on (see AUTHORITY). The sum is enough, since
 * epochs only grow. One that somebody else gave in an application rests on the authority of its owner as well, and one that an admin gave
 * there on the epoch of that role.
 */
export const GIVEN = {
  by: text(),
  epoch: number(),
  ownerEpoch: number().optional(),
  adminEpoch: number().optional(),
  /** That of the giver at the time: a credential does not grow with a later promotion. */
  role: oneOf(['user', 'editor', 'admin']).optional(),
  /** The person who made it, if somebody else has taken it over: they still know it. */
  madeBy: text().optional(),
};
export type Given = EntityOf<typeof GIVEN>;
