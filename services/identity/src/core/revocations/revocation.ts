/** In the list of a revocation that every resource of others reads of. */
export const EVERY_RESOURCE = '*';

/** Whether a resource of others reads of a revocation. */
export function concerns(
  { resources = [] }: { resources?: readonly string[] | undefined },
  resource: string,
): boolean {
  return resources.includes(resource) || resources.includes(EVERY_RESOURCE);
}
