import {
  type Candidate,
  chooseProfile,
  matchesBody,
  matchesQuery,
} from '@gatehouse/api/resource/choose-profile';
import { candidatesFor } from '@gatehouse/api/resource/route';
import t from 'tap';
import { USER_PATHS } from '../../src/profiles/paths.ts';

/** What a request is answered by: what it asks for, and how the path's profiles are pinned and set. */
type Asked = {
  pin: string;
  query: Record<string, unknown>;
  /** Of a creation; a list has none. */
  body?: { value: unknown };
  pinned: string | undefined;
  cursorProfile?: string;
  fallback: string;
};

const v1List = (query: Asked['query'], over: Partial<Asked> = {}): Asked => ({
  pin: 'v1_users',
  query,
  pinned: undefined,
  fallback: 'A',
  ...over,
});
const v2List = (query: Asked['query'], over: Partial<Asked> = {}) =>
  v1List(query, { pin: 'v2_users', fallback: 'B2', ...over });
const v1Create = (value: unknown, over: Partial<Asked> = {}) => v1List({}, { body: { value }, ...over });
const v2Create = (value: unknown, over: Partial<Asked> = {}) => v2List({}, { body: { value }, ...over });

function responding({ pin, query, body, ...choice }: Asked): string {
  const path = USER_PATHS.find((it) => it.pin === pin);
  if (path === undefined) throw new Error(`no path has the pin ${pin}`);
  const nameOf = <T>(candidates: Candidate<T>[], matches: (definition: T) => boolean) =>
    chooseProfile(candidates, { ...choice, matches }).name;
  return body === undefined
    ? nameOf(
        candidatesFor(path, (profile) => profile.list),
        matchesQuery(query),
      )
    : nameOf(
        candidatesFor(path, (profile) => profile.create),
        matchesBody(body.value),
      );
}

const page = '1';
const offset = '0';
const username = 'ann';
const name = 'Ann';

const table: [string, Asked, string][] = [
  // Without a pin: the shape, else the default.
  ['v1 list, nothing', v1List({}), 'A'],
  ['v1 list, limit alone', v1List({ limit: '5' }), 'A'],
  ['v1 list, page', v1List({ page }), 'G'],
  ['v1 list, an empty page', v1List({ page: '' }), 'G'],
  ['v1 list, a page given twice', v1List({ page: ['1', '2'] }), 'G'],
  ['v1 list, offset', v1List({ offset }), 'A'],
  ['v1 list, offset where G is the default', v1List({ offset }, { fallback: 'G' }), 'A'],
  ['v1 list, page and offset', v1List({ page, offset }), 'A'],
  ['v1 list, page and offset, default G', v1List({ page, offset }, { fallback: 'G' }), 'G'],
  ['v1 list, nothing, default G', v1List({}, { fallback: 'G' }), 'G'],
  ['v1 list, cursor alone, default G', v1List({ cursor: '' }, { fallback: 'G' }), 'G'],
  ['v1 list, default E, which has no list', v1List({}, { fallback: 'E' }), 'A'],
  ['v2 list, nothing', v2List({}), 'B2'],
  ['v2 list, page', v2List({ page }), 'B2'],
  ['v2 list, page where B1 is the default', v2List({ page }, { fallback: 'B1' }), 'B2'],
  ['v2 list, offset', v2List({ offset }), 'B1'],
  ['v2 list, nothing, default B1', v2List({}, { fallback: 'B1' }), 'B1'],
  ['v2 list, status alone', v2List({ status: 'active' }), 'B2'],
  ['v1 create, username', v1Create({ username }), 'A'],
  ['v1 create, username where G is the default', v1Create({ username }, { fallback: 'G' }), 'A'],
  ['v1 create, username and name', v1Create({ username, name }), 'A'],
  ['v1 create, name', v1Create({ name }), 'E'],
  ['v1 create, name where G is the default', v1Create({ name }, { fallback: 'G' }), 'G'],
  ['v1 create, neither', v1Create({ email: 'ann@example.org' }), 'A'],
  ['v1 create, neither, default G', v1Create({}, { fallback: 'G' }), 'G'],
  ['v1 create, no object', v1Create('name'), 'A'],
  ['v1 create, null', v1Create(null), 'A'],
  ['v1 create, nothing', v1Create(undefined), 'A'],
  ['v1 create, a name that is inherited', v1Create(Object.create({ name })), 'A'],
  ['v2 create', v2Create({ username }), 'B1'],
  ['v2 create, pinned B2', v2Create({ username }, { pinned: 'B2' }), 'B1'],
  // A pin comes first.
  ['v1 list, page, pinned A', v1List({ page }, { pinned: 'A' }), 'A'],
  ['v1 list, offset, pinned G', v1List({ offset }, { pinned: 'G' }), 'G'],
  ['v1 list, nothing, pinned G', v1List({}, { pinned: 'G' }), 'G'],
  ['v1 list, pinned E, which has none', v1List({}, { pinned: 'E' }), 'A'],
  ['v1 list, page, pinned E', v1List({ page }, { pinned: 'E' }), 'G'],
  ['v1 create, name, pinned G', v1Create({ name }, { pinned: 'G' }), 'G'],
  ['v1 create, name, pinned A', v1Create({ name }, { pinned: 'A' }), 'A'],
  ['v1 create, username, pinned E', v1Create({ username }, { pinned: 'E' }), 'E'],
  ['v2 list, nothing, pinned B1', v2List({}, { pinned: 'B1' }), 'B1'],
  ['v2 list, offset, pinned B2', v2List({ offset }, { pinned: 'B2' }), 'B2'],
  ['v1 list, a cursor of G', v1List({ cursor: 'x' }, { cursorProfile: 'G' }), 'G'],
  ['v2 list, a cursor of B1', v2List({ cursor: 'x' }, { cursorProfile: 'B1' }), 'B1'],
  ['v1 list, a cursor of G, pinned A', v1List({ cursor: 'x' }, { cursorProfile: 'G', pinned: 'A' }), 'A'],
  ['v1 list, a cursor of another path', v1List({ cursor: 'x' }, { cursorProfile: 'B1' }), 'A'],
  ['v1 list, a cursor that names nothing', v1List({ cursor: 'x' }, { cursorProfile: 'toString' }), 'A'],
  // A pin that means nothing here is none.
  ['v1 list, pinned to what does not exist', v1List({ page }, { pinned: 'Z' }), 'G'],
  ['v1 list, pinned to a profile of another path', v1List({}, { pinned: 'B2' }), 'A'],
  ['v1 list, pinned to a name of the prototype', v1List({}, { pinned: 'constructor' }), 'A'],
];

for (const [what, asked, expected] of table) {
  t.equal(responding(asked), expected, `${what}: ${expected}`);
}
