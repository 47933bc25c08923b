import type { ErrorBody } from '@gatehouse/http/error-bodies';
import { bodyValidator, serializer } from '@gatehouse/http/schema';
import type { ListRules } from '@gatehouse/lists/list-request';
import type { Envelope } from '@gatehouse/lists/paging';
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
} from './user.ts';
import { EMAIL_MAX, NAME_MAX, PASSWORD_LENGTH, USERNAME_LENGTH } from './user-fields.ts';

/**
 * An API profile: one dialect in which the interface speaks of users. It is a value that says how requests are read
 * and answers written; mountProfiles makes routes of it. An operation that is absent is not served.
 */
export type Profile = {
  name: string;
  /** What is special about it, after its name. */
  about: string;
  errorBody: ErrorBody;
  list?: List;
  create?: { body: Body<NewUser>; answer: View };
  read?: View;
  update?: { method: 'PUT' | 'PATCH'; body: Body<Update>; answer: View };
  remove?: true;
};

/** A list of users: what it may be asked for, what stands around the users, and how each is shown. */
export type List = { rules: Omit<ListRules<UserField>, 'path'>; envelope: Envelope; item: View };

/** How a user is shown, by a name that is unique in the description of the interface. What it does not name cannot leak. */
export type View = { name: string; schema: TSchema; show(user: User): unknown; write(user: User): string };

/** How the body of a request is read, by a name as above; `read` throws `invalid`. */
export type Body<T> = { name: string; schema: TSchema; example: unknown; read(input: unknown): T };

/** A user as a schema says. */
export function view<S extends TSchema>(name: string, schema: S, show: (user: User) => Static<S>): View {
  const write = serializer(schema);
  return { name, schema, show, write: (user) => write(show(user)) };
}

/** A body that is checked against a schema, and turned into what the use case takes. */
export function body<S extends TSchema, T>(
  name: string,
  schema: S,
  { example, read }: { example: Static<S>; read: (body: Static<S>) => T },
): Body<T> {
  const validate = bodyValidator(schema);
  return { name, schema, example, read: (input) => read(validate(input)) };
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
