/**
 * A version of an entity. `minor` counts the changes that no edit conflicts with, such as those of orders to a product's
 * stock, since the entity was created; a number is a version without any.
 */
type RequiredVersion = number | { version: number; minor: number };

/** The versions that a write is conditional on (If-Match, RFC 9110 §13.1.1); unconditional when undefined. */
export type IfVersion = readonly RequiredVersion[] | undefined;

/** Whether a write may be made at a version; with `minor`, only if nothing else has changed the entity either. */
export function allowsVersion(ifVersion: IfVersion, version: number, minor?: number): boolean {
  if (ifVersion === undefined) return true;
  return ifVersion.some((required) => {
    const given = typeof required === 'number' ? { version: required, minor: 0 } : required;
    return given.version === version && (minor === undefined || given.minor === minor);
  });
}
