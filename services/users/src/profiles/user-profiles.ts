import { plainBody, upperCaseCodeBody, v2Body } from '@gatehouse/api/http/error-bodies';
import { documentedLimits } from '@gatehouse/api/http/schema';
import { bareArray, offsetEnvelope, pageEnvelope, pageEnvelopeWithPages } from '@gatehouse/api/lists/paging';
import { createEntityProfile, type PropertyShape } from '@gatehouse/api/resource/entity-profile';
import { type Profile, view } from '@gatehouse/api/resource/profile';
import { inSnakeCase } from '@gatehouse/domain/fields';
import { EMAIL_MAX, NAME_MAX, USERNAME_LENGTH } from '@gatehouse/domain/user-inputs';
import { Type } from 'typebox';
import type { NewUser, User, UserField, UserUpdate } from '../user.ts';
import { FIELD_LIMITS, PASSWORD_LENGTH, USER, USER_ROLES, USER_STATUSES } from '../user-fields.ts';

export type UserTypes = { entity: User; field: UserField; draft: NewUser; changes: UserUpdate };
type UserProfile = Profile<UserTypes>;

const between = ({ min, max }: { min: number; max: number }) => `${min} to ${max}`;
const NAME_LENGTH = `${between({ min: 1, max: NAME_MAX })} characters`;
const TextOrNull = Type.Unsafe<string | null>({ type: ['string', 'null'] });
const Timestamp = Type.String({ format: 'date-time' });
const enumOf = <V extends string>(values: readonly V[]) =>
  Type.Unsafe<V>({ type: 'string', enum: [...values] });
const Role = enumOf(USER_ROLES);
const Status = enumOf(USER_STATUSES);

export const PasswordInput = Type.String({
  description: `${between(PASSWORD_LENGTH)} characters. Common passwords, those that only count or repeat, and the username and the email address are refused. Never returned.`,
  ...documentedLimits(FIELD_LIMITS.password),
  examples: ['correct horse battery'],
});
/** The field of a request body with which people prove that it is they who change their password or email address. */
export const CurrentPasswordInput = Type.String({
  description: 'Required of people who change their own password or email address.',
});
/** A part of a name, which can be removed. */
const NamePartInput = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  description: `${NAME_LENGTH}, or null to remove it.`,
  ...documentedLimits(FIELD_LIMITS.name),
  examples: ['Ann'],
});

/** A text that can be removed, and that responses leave out while there is none. */
const optionalText = (description: string, limits: { maxLength: number }, example: string) => ({
  input: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: `${description}, or null to remove it.`,
    ...documentedLimits(limits),
  }),
  example,
  output: Type.Optional(Type.String({ description: 'Left out while there is none.' })),
});

/** Every property of a user in requests and responses. The aggregate checks the limits, and its messages are more specific. */
export const USER_SHAPES = {
  id: { output: Type.String({ description: 'Opaque.' }) },
  username: {
    input: Type.String({
      description: `Unique. ${between(USERNAME_LENGTH)} letters, digits, and any of \`.\` \`_\` \`+\` \`-\`; the letters of one script (UTS #39, moderately restrictive).`,
      ...documentedLimits(FIELD_LIMITS.username),
      examples: ['ann'],
    }),
    example: 'ann',
    output: Type.String(),
  },
  email: {
    input: Type.String({
      description: `An email address, unique, of at most ${EMAIL_MAX} characters.`,
      ...documentedLimits(FIELD_LIMITS.email),
      examples: ['ann@example.org'],
    }),
    example: 'ann@example.org',
    output: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      format: 'email',
      description: 'Null if there is no address yet.',
    }),
  },
  password: { input: PasswordInput, example: 'correct horse battery' },
  currentPassword: { input: CurrentPasswordInput, name: 'current_password' },
  name: {
    input: Type.String({
      description: `${NAME_LENGTH}.`,
      ...documentedLimits(FIELD_LIMITS.name),
      examples: ['Ann Lee'],
    }),
    example: 'Ann Lee',
    output: Type.String(),
  },
  firstName: { input: NamePartInput, example: 'Ann', output: TextOrNull },
  lastName: { input: NamePartInput, example: 'Lee', output: TextOrNull },
  phone: optionalText('A phone number such as +49 30 1234567', FIELD_LIMITS.phone, '+49 30 1234567'),
  locale: optionalText(
    'The preferred language, a tag such as en or de-AT (BCP 47)',
    FIELD_LIMITS.locale,
    'en-GB',
  ),
  zoneinfo: optionalText(
    'A time zone of the IANA database, such as Europe/Berlin',
    FIELD_LIMITS.zoneinfo,
    'Europe/London',
  ),
  role: {
    input: Role,
    example: 'editor',
    output: Role,
  },
  status: {
    input: Status,
    example: 'active',
    output: Status,
  },
  createdAt: { output: Timestamp },
  updatedAt: { output: Timestamp },
} satisfies Record<string, PropertyShape>;

type Shaped = keyof typeof USER_SHAPES;
const camelCase = createEntityProfile<User, typeof USER, Shaped>(USER, USER_SHAPES);
const snakeCase = createEntityProfile<User, typeof USER, Shaped>(USER, USER_SHAPES, inSnakeCase);

/** Whether the body has a name and no username, as in profiles E and G. */
const hasNameOnly = (body: object) => Object.hasOwn(body, 'name') && !Object.hasOwn(body, 'username');

const userA = camelCase.view('UserA', ['id', 'username', 'email', 'createdAt', 'updatedAt']);

/** Profile A of the interface, /v1/users: camel case, offset envelope. */
export const profileA: UserProfile = {
  name: 'A',
  about: 'camel case, the list by offset',
  errorBody: upperCaseCodeBody,
  list: {
    rules: {
      paging: 'offset',
      filters: camelCase.filters(['id', 'username', 'email', 'createdAt', 'updatedAt']),
      legacy: true,
    },
    envelope: offsetEnvelope,
    item: userA,
  },
  create: {
    body: camelCase.body('NewUserA', { required: ['username', 'email', 'password'] }),
    response: userA,
    matches: (body) => Object.hasOwn(body, 'username'),
  },
  read: userA,
  update: {
    method: 'PUT',
    body: camelCase.body('UserChangesA', {
      optional: ['username', 'email', 'currentPassword'],
      example: { email: 'ann@example.com' },
    }),
    response: userA,
  },
  remove: true,
};

const ITEM_B = ['id', 'username', 'email', 'status', 'createdAt'] as const;
const PROFILE_B = { profile: ['firstName', 'lastName', 'phone', 'locale', 'zoneinfo'] } as const;
const detailB = snakeCase.view('UserB', [...ITEM_B, PROFILE_B]);
const listB = {
  filters: snakeCase.filters(['id', 'username', 'email', 'status', 'createdAt']),
  plain: ['status'],
};

/** Profile B1 of the interface, /v2/users: bare array by offset, and all operations on one user under /v2. */
export const profileB1: UserProfile = {
  name: 'B1',
  about: 'snake case with a status, the list as a bare array by offset',
  errorBody: v2Body,
  list: {
    rules: { ...listB, paging: 'offset' },
    envelope: bareArray,
    item: snakeCase.view('UserB1', ITEM_B),
  },
  create: {
    body: snakeCase.body('NewUserB', {
      required: ['username', 'email', 'password'],
      optional: ['status', PROFILE_B],
    }),
    response: detailB,
  },
  read: detailB,
  update: {
    method: 'PUT',
    body: snakeCase.body('UserChangesB', {
      optional: ['username', 'email', 'password', 'currentPassword', 'status', PROFILE_B],
      example: { status: 'inactive', profile: { last_name: 'Park' } },
    }),
    response: detailB,
  },
  remove: true,
};

/** Profile B2 of the interface, /v2/users: the list by pages. */
export const profileB2: UserProfile = {
  name: 'B2',
  about: 'the list by page',
  errorBody: v2Body,
  list: {
    rules: { ...listB, paging: 'page' },
    envelope: pageEnvelopeWithPages,
    item: snakeCase.view('UserB2', ['id', 'email', 'status']),
  },
};

const userC = snakeCase.view('UserC', ['id', 'username', 'email', 'createdAt']);

/** Profile C of the interface, /api/v1/users: snake case, bare array, errors as a string. */
export const profileC: UserProfile = {
  name: 'C',
  about: 'snake case, the list as a bare array, errors as a string',
  errorBody: plainBody,
  list: {
    rules: {
      paging: 'offset',
      filters: snakeCase.filters(['id', 'username', 'email', 'createdAt']),
      legacy: true,
    },
    envelope: bareArray,
    item: userC,
  },
  create: {
    body: snakeCase.body('NewUserC', { required: ['username', 'email', 'password'] }),
    response: view(
      'UserCreatedC',
      Type.Object({ id: USER_SHAPES.id.output, message: Type.String() }),
      ({ id }: User) => ({ id, message: 'User created.' }),
    ),
  },
  read: userC,
};

const itemD = camelCase.view('UserD', ['id', 'name']);

/** Profile D of the interface, /users: people with only a name. */
export const profileD: UserProfile = {
  name: 'D',
  about: 'people with a name, the list as a bare array',
  errorBody: upperCaseCodeBody,
  list: {
    rules: { paging: 'offset', filters: camelCase.filters(['id']) },
    envelope: bareArray,
    item: itemD,
  },
  create: { body: camelCase.body('NewUserD', { required: ['name'] }), response: itemD },
  read: camelCase.view('UserDetailD', ['id', 'name', 'email']),
};

/** Profile E of the interface, /v1/users: creates with a name, and changes with PATCH. */
export const profileE: UserProfile = {
  name: 'E',
  about: 'camel case, created with a name, changed with PATCH',
  errorBody: upperCaseCodeBody,
  create: {
    body: camelCase.body('NewUserE', { required: ['email', 'name', 'password'] }),
    response: camelCase.view('UserE', ['id', 'email', 'name', 'createdAt']),
    matches: hasNameOnly,
  },
  update: {
    method: 'PATCH',
    body: camelCase.body('UserChangesE', {
      optional: ['name', 'email', 'currentPassword'],
      example: { name: 'Ann Park' },
    }),
    response: camelCase.view('ChangedUserE', ['id', 'email', 'name', 'updatedAt']),
  },
  remove: true,
};

const SORTED_F = ['id', 'username', 'email', 'role', 'createdAt', 'updatedAt'] as const;
const userF = camelCase.view('UserF', ['id', 'username', 'email', 'role', 'createdAt', 'updatedAt']);

/** Profile F of the interface, /kb/api/v1/users: with roles, sorted as asked, a bare array. */
export const profileF: UserProfile = {
  name: 'F',
  about: 'camel case with roles, the list sorted as asked and as a bare array',
  errorBody: upperCaseCodeBody,
  list: {
    rules: {
      paging: 'offset',
      filters: {
        ...camelCase.filters(['id', 'username', 'email', 'role', 'status']),
        q: { field: 'text', type: 'string', operators: ['eq'], bounded: true },
        ...camelCase.filters(['createdAt', 'updatedAt']),
      },
      plain: ['q'],
      sort: {
        by: 'sortBy',
        order: 'sortOrder',
        fields: Object.fromEntries(SORTED_F.map((field) => [field, field])),
      },
    },
    envelope: bareArray,
    item: userF,
  },
  create: {
    body: camelCase.body('NewUserF', { required: ['username', 'email', 'password'], optional: ['role'] }),
    response: userF,
  },
};

const userG = snakeCase.view('UserG', ['id', 'name', 'email', 'createdAt']);

/** Profile G of the interface, /v1/users: snake case, the list by pages. */
export const profileG: UserProfile = {
  name: 'G',
  about: 'snake case, the list by page',
  errorBody: upperCaseCodeBody,
  list: {
    rules: {
      paging: 'page',
      filters: snakeCase.filters(['id', 'email', 'createdAt']),
      legacy: true,
    },
    envelope: pageEnvelope,
    item: userG,
  },
  create: {
    body: snakeCase.body('NewUserG', { required: ['name', 'email', 'password'] }),
    response: userG,
    matches: hasNameOnly,
  },
};
