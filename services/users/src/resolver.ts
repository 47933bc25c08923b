/** The paths that several profiles share, by the names that applications pin profiles under, and who serves what. */
const SERVED = {
  v1_users: { list: ['A', 'G'], create: ['A', 'E', 'G'] },
  v2_users: { list: ['B2', 'B1'], create: ['B1'] },
} as const;

export type SharedPath = keyof typeof SERVED;
export type SharedProfile = { [P in SharedPath]: (typeof SERVED)[P]['list' | 'create'][number] }[SharedPath];

/** What a profile is chosen by. */
export type Asked = {
  path: SharedPath;
  operation: 'list' | 'create';
  query: Readonly<Record<string, unknown>>;
  body: unknown;
  /** The profile in whose list the cursor of the query was written. */
  cursorOf?: string | undefined;
  /** The profile that the caller's application has pinned for the path, whatever it is. */
  pinned: string | undefined;
  /** The deployment's default for the path. */
  fallback: SharedProfile;
};

/**
 * Which profile answers where several share a path: the one that the application has pinned, else the one that the
 * request's shape fits unmistakably (a cursor goes on in the profile that wrote it), else the deployment's default, else the first. A profile that does not
 * serve the operation is passed over.
 */
export function resolveProfile(asked: Asked): SharedProfile {
  const served: readonly SharedProfile[] = SERVED[asked.path][asked.operation];
  const wanted = [asked.pinned, asked.cursorOf, shapeOf(asked), asked.fallback];
  return (
    wanted.map((name) => served.find((it) => it === name)).find((it) => it !== undefined) ?? first(served)
  );
}

/** The only profile that such a request fits; undefined when it fits none of them, or more than one. */
function shapeOf({ path, operation, query, body, fallback }: Asked): SharedProfile | undefined {
  if (operation === 'create') {
    const has = (field: string) => typeof body === 'object' && body !== null && Object.hasOwn(body, field);
    if (path === 'v2_users') return undefined;
    if (has('username')) return 'A';
    if (!has('name')) return undefined;
    // G's body looks like E's: only a default can mean it.
    return fallback === 'G' ? 'G' : 'E';
  }
  const byPage = query.page !== undefined;
  const byOffset = query.offset !== undefined;
  if (byPage === byOffset) return undefined;
  if (path === 'v1_users') return byPage ? 'G' : 'A';
  return byPage ? 'B2' : 'B1';
}

function first<T>(list: readonly T[]): T {
  const [it] = list;
  if (it === undefined) throw new Error('nobody serves this');
  return it;
}
