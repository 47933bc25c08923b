import { type Profile, type View, view } from '@gatehouse/resource/profile';
import { type Static, type TSchema, Type } from 'typebox';
import {
  type NewUser,
  type Update,
  USER_ROLES,
  USER_STATUSES,
  type User,
  type UserField,
  type UserRole,
  type UserStatus,
} from '../user.ts';
import { EMAIL_MAX, NAME_MAX, PASSWORD_LENGTH, USERNAME_LENGTH } from '../user-fields.ts';

export type UserTypes = { entity: User; field: UserField; draft: NewUser; changes: Update };
export type UserProfile = Profile<UserTypes>;

/** A user as a schema says. */
export function userView<S extends TSchema>(
  name: string,
  schema: S,
  show: (user: User) => Static<S>,
): View<User> {
  return view(name, schema, show);
}

/** Fields that several profiles show alike. */
export const Id = Type.String({ description: 'Opaque.' });
export const Email = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  format: 'email',
  description: 'Null for somebody who has no address yet.',
});
export const Timestamp = Type.String({ format: 'date-time' });
export const Role = Type.Unsafe<UserRole>({ type: 'string', enum: [...USER_ROLES] });
export const Status = Type.Unsafe<UserStatus>({ type: 'string', enum: [...USER_STATUSES] });

/**
 * Fields that several profiles take alike. Their limits are told and not checked here: the aggregate does that, and
 * says better what is wrong.
 */
export const GivenUsername = Type.String({
  description: `Unique. ${between(USERNAME_LENGTH)} letters, digits, and any of \`.\` \`_\` \`+\` \`-\``,
  examples: ['ann'],
});
export const GivenEmail = Type.String({
  description: `An email address, unique, of at most ${EMAIL_MAX} characters.`,
  examples: ['ann@example.org'],
});
export const GivenPassword = Type.String({
  description: `${between(PASSWORD_LENGTH)} characters. Never shown again.`,
  examples: ['correct horse battery'],
});
const NAME_LENGTH = `${between({ min: 1, max: NAME_MAX })} characters`;
export const GivenName = Type.String({ description: `${NAME_LENGTH}.`, examples: ['Ann Lee'] });
/** A part of a name, which may be taken away. */
export const GivenNamePart = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  description: `${NAME_LENGTH}, or null for none.`,
  examples: ['Ann'],
});

function between({ min, max }: { min: number; max: number }): string {
  return `${min} to ${max}`;
}

/** Whether the body of a creation names a person and no username, as those of profiles E and G do. */
export function isNamed(body: object): boolean {
  return Object.hasOwn(body, 'name') && !Object.hasOwn(body, 'username');
}
