import { type EntityOf, number, text } from '@gatehouse/domain/fields';

/**
 * The person who gave a capability, and the sum of the epochs of their account that it rests on (see AUTHORITY). The sum is enough, since
 * epochs only grow.
 */
export const GIVEN = { by: text(), epoch: number() };
export type Given = EntityOf<typeof GIVEN>;
