/**
 * The roles in an application; each includes those before it. A viewer sees it and its figures; a developer also changes its look and its
 * credentials; an owner also changes everything else, deletes and transfers it, and chooses its members. Only members' roles are stored.
 */
export const APPLICATION_ROLES = ['viewer', 'developer', 'owner'] as const;
export type ApplicationRole = (typeof APPLICATION_ROLES)[number];
