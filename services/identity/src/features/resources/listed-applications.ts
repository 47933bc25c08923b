import type { Authority } from '../../core/authority/authority.ts';
import type { Resource } from './registered-resource.ts';

/** Whether the list of a resource holds for the applications of others: its giver could still give it. */
export async function holdsForOthers(
  { owner, listedBy }: Pick<Resource, 'owner' | 'listedBy'>,
  authority: Pick<Authority, 'giverOf'>,
): Promise<boolean> {
  return (await authority.giverOf('resource_application', listedBy, { owner })) !== undefined;
}
