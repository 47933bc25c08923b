import type { Profile } from '@gatehouse/api/resource/profile';
import type { ResourcePath } from '@gatehouse/api/resource/resource';
import {
  profileA,
  profileB1,
  profileB2,
  profileC,
  profileD,
  profileE,
  profileF,
  profileG,
  type UserTypes,
} from './user-profiles.ts';

const { name, errorBody, update, remove } = profileB1;

/** Operations of /users that D does not have: they are those of /v2, the latest stable version, with its error body. */
const updateAndRemoveAsInV2: Profile<UserTypes> = {
  name,
  about: 'update and delete, as under /v2/users',
  errorBody,
  ...(update === undefined ? {} : { update }),
  ...(remove === undefined ? {} : { remove }),
};

export const USER_PATHS: readonly ResourcePath<UserTypes>[] = [
  { prefix: '/v1/users', pin: 'v1_users', profiles: [profileA, profileE, profileG] },
  { prefix: '/v2/users', pin: 'v2_users', profiles: [profileB2, profileB1] },
  { prefix: '/api/v1/users', idName: 'user_id', profiles: [profileC] },
  { prefix: '/users', profiles: [profileD, updateAndRemoveAsInV2] },
  { prefix: '/kb/api/v1/users', profiles: [profileF] },
];
