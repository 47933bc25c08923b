import type { ResourcePath } from '@gatehouse/resource/resource';
import { profileA } from './a.ts';
import { profileB1, profileB2 } from './b.ts';
import { profileC } from './c.ts';
import { profileD } from './d.ts';
import { profileE } from './e.ts';
import { profileF } from './f.ts';
import { profileG } from './g.ts';
import type { UserProfile, UserTypes } from './user-profile.ts';

const { name, errorBody, update, remove } = profileB1;

/** What D lacks under /users is as it is under the latest stable version, errors as well. */
const latest: UserProfile = {
  name,
  about: 'what D lacks, as under /v2/users',
  errorBody,
  ...(update === undefined ? {} : { update }),
  ...(remove === undefined ? {} : { remove }),
};

export const USER_PATHS: readonly ResourcePath<UserTypes>[] = [
  { prefix: '/v1/users', pin: 'v1_users', profiles: [profileA, profileE, profileG] },
  { prefix: '/v2/users', pin: 'v2_users', profiles: [profileB2, profileB1] },
  { prefix: '/api/v1/users', idName: 'user_id', profiles: [profileC] },
  { prefix: '/users', profiles: [profileD, latest] },
  { prefix: '/kb/api/v1/users', profiles: [profileF] },
];
