import { documentedLimits } from '@gatehouse/api/http/schema';
import { type Profile, type View, view } from '@gatehouse/api/resource/profile';
import { type Static, type TSchema, Type } from 'typebox';
import type { NewUser, User, UserField, UserRole, UserStatus, UserUpdate } from '../user.ts';
import {
  EMAIL_MAX,
  FIELD_LIMITS,
  NAME_MAX,
  PASSWORD_LENGTH,
  USER_ROLES,
  USER_STATUSES,
  USERNAME_LENGTH,
} from '../user-fields.ts';

export type UserTypes = { entity: User; field: UserField; draft: NewUser; changes: UserUpdate };
export type UserProfile = Profile<UserTypes>;

/** A view of a user, written by a schema. */
export function userView<S extends TSchema, P extends keyof User = keyof User>(
  name: string,
  schema: S,
  show: (user: Pick<User, P>) => Static<S>,
  properties?: readonly P[],
): View<User> {
  return view<User, S, P>(name, schema, show, properties);
}

/** Fields of responses that several profiles share. */
export const Id = Type.String({ description: 'Opaque.' });
export const Email = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  format: 'email',
  description: 'Null if there is no address yet.',
});
export const Timestamp = Type.String({ format: 'date-time' });
export const Role = Type.Unsafe<UserRole>({ type: 'string', enum: [...USER_ROLES] });
export const Status = Type.Unsafe<UserStatus>({ type: 'string', enum: [...USER_STATUSES] });

/**
 * Fields of request bodies that several profiles share. Their limits are documented here and checked by the aggregate,
 * whose messages are more specific.
 */
export const UsernameInput = Type.String({
  description: `Unique. ${between(USERNAME_LENGTH)} letters, digits, and any of \`.\` \`_\` \`+\` \`-\`; the letters of one script (UTS #39, moderately restrictive).`,
  ...documentedLimits(FIELD_LIMITS.username),
  examples: ['ann'],
});
export const EmailInput = Type.String({
  description: `An email address, unique, of at most ${EMAIL_MAX} characters.`,
  ...documentedLimits(FIELD_LIMITS.email),
  examples: ['ann@example.org'],
});
export const PasswordInput = Type.String({
  description: `${between(PASSWORD_LENGTH)} characters. Common passwords, and those that only count or repeat, are refused. Never returned.`,
  ...documentedLimits(FIELD_LIMITS.password),
  examples: ['correct horse battery'],
});
const NAME_LENGTH = `${between({ min: 1, max: NAME_MAX })} characters`;
export const NameInput = Type.String({
  description: `${NAME_LENGTH}.`,
  ...documentedLimits(FIELD_LIMITS.name),
  examples: ['Ann Lee'],
});
/** A part of a name, which can be removed. */
export const NamePartInput = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  description: `${NAME_LENGTH}, or null to remove it.`,
  ...documentedLimits(FIELD_LIMITS.name),
  examples: ['Ann'],
});

function between({ min, max }: { min: number; max: number }): string {
  return `${min} to ${max}`;
}

/** Whether the body has a name and no username, as in profiles E and G. */
export function hasNameOnly(body: object): boolean {
  return Object.hasOwn(body, 'name') && !Object.hasOwn(body, 'username');
}
