import type { Profile } from './profile.ts';
import { profileA } from './profiles/a.ts';
import { profileB1, profileB2 } from './profiles/b.ts';
import { profileC } from './profiles/c.ts';
import { profileD } from './profiles/d.ts';
import { profileE } from './profiles/e.ts';
import { profileF } from './profiles/f.ts';
import { profileG } from './profiles/g.ts';
import type { SharedPath } from './resolver.ts';

/**
 * A path and the profiles that speak there. Where several serve an operation the path is shared, and the resolver
 * chooses; else the first one that serves it does.
 */
export type PathGroup = {
  prefix: string;
  /** What the interface calls the id in the path, when not `id`. */
  idName?: string;
  shared?: SharedPath;
  profiles: readonly Profile[];
};

const { name, errorBody, update, remove } = profileB1;

/** What D lacks under /users is as it is under the latest stable version, errors as well. */
const latest: Profile = {
  name,
  about: 'what D lacks, as under /v2/users',
  errorBody,
  ...(update === undefined ? {} : { update }),
  ...(remove === undefined ? {} : { remove }),
};

export const PATH_GROUPS: readonly PathGroup[] = [
  { prefix: '/v1/users', shared: 'v1_users', profiles: [profileA, profileE, profileG] },
  { prefix: '/v2/users', shared: 'v2_users', profiles: [profileB2, profileB1] },
  { prefix: '/api/v1/users', idName: 'user_id', profiles: [profileC] },
  { prefix: '/users', profiles: [profileD, latest] },
  { prefix: '/kb/api/v1/users', profiles: [profileF] },
];
