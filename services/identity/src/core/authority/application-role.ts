/**
 * What somebody may do with an application, each also what those before may: see it and its figures; change it and its
 * credentials; delete it, transfer it and choose its members. Only its members have a role that is stored.
 */
export const APPLICATION_ROLES = ['viewer', 'developer', 'owner'] as const;
export type ApplicationRole = (typeof APPLICATION_ROLES)[number];
