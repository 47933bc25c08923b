import { newId } from '@gatehouse/core/ids';
import { walkProfiles } from '@gatehouse/testing/walk-profiles';
import t from 'tap';
import { USER_PATHS } from '../../src/profiles/paths.ts';
import { USER_SHAPES } from '../../src/profiles/user-profiles.ts';
import { newUserRecord, userOf } from '../../src/user.ts';
import { CHANGEABLE_FIELDS, USER } from '../../src/user-fields.ts';
import { build } from '../build.ts';

const { call, machine } = await build(t);
const profiles = USER_PATHS.flatMap((path) => path.profiles);
const SECRET = ['password', 'currentPassword'];
const inOrder = (names: Iterable<string>) => [...new Set(names)].toSorted();
const exampleOf = (body: { example: unknown }) => body.example as object;

t.test('each property that a body takes is created, and shown by a profile', async (t) => {
  const views = profiles.flatMap(({ list, create, read, update }) =>
    [list?.item, create?.response, read, update?.response].filter((it) => it !== undefined),
  );
  const shown = new Set(views.flatMap(({ properties = [] }) => properties));
  const taken = Object.entries(USER_SHAPES).flatMap(([name, shape]) => ('input' in shape ? [name] : []));
  t.same(
    taken.filter((name) => !shown.has(name)),
    SECRET,
  );
  const created: string[] = [];
  for (const { create, name } of profiles) {
    if (create === undefined) continue;
    const draft = create.body.read(exampleOf(create.body));
    const user = userOf(newUserRecord(draft, { id: 'usr_1', username: draft.username ?? 'derived' }));
    const { password: _, ...stored } = draft;
    t.match(user, stored, name);
    created.push(...Object.keys(stored));
  }
  t.same(inOrder(created), inOrder(CHANGEABLE_FIELDS.filter((it) => it !== 'picture')));
});

walkProfiles(t, {
  ...{ paths: USER_PATHS, call, token: machine, stored: USER },
  internal: [
    ...['picture', 'emailVerified', 'earlierEmail', 'emailReplacedAt', 'heldUsername', 'usernameHeldUntil'],
    ...[
      'epoch',
      'signInEpoch',
      'recoveryEpoch',
      'authorityEpoch',
      'adminEpoch',
      'loweredAt',
      'loweredBy',
      'givenBackAt',
    ],
    'version',
  ],
  secret: ['password', 'current_password'],
  values() {
    const username = newId('u');
    return {
      ...{ username, email: `${username}@example.org`, phone: '+49 30 1234567' },
      ...{ locale: 'en-GB', zoneinfo: 'Europe/London' },
    };
  },
  async create() {
    const person = { username: newId('u'), email: `${newId('u')}@example.org`, password: 'correct horse' };
    return (await call('POST', '/v2/users', machine, person)).body.id;
  },
  async read(id) {
    const paths = [`/v2/users/${id}`, `/users/${id}`, `/kb/api/v1/users?cursor=&filter[id]=${id}`];
    const [b, d, f] = await Promise.all(paths.map(async (path) => (await call('GET', path, machine)).body));
    return { ...b?.profile, ...b, ...d, ...f?.data[0] };
  },
});
