import type { ErrorKind } from '@gatehouse/kit/errors';
import { dialectOf } from '@gatehouse/lists/cursor';
import type { Deprecation } from '@gatehouse/lists/deprecation';
import { documented, type Operation } from '@gatehouse/openapi/operation';
import { callerOf } from '@gatehouse/resource/authenticate';
import type { Idempotency } from '@gatehouse/resource/idempotency';
import { type Caller, requireScope } from '@gatehouse/tokens/caller';
import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import type { PathGroup } from './path-groups.ts';
import type { Profile } from './profile.ts';
import { resolveProfile, type SharedPath, type SharedProfile } from './resolver.ts';
import type { UserService } from './user-service.ts';

export type ProfileOptions = {
  users: UserService;
  /** The hook that puts a caller on the request. */
  authenticate: onRequestAsyncHookHandler;
  idempotency: Idempotency;
  /** Which profile answers on a shared path where neither a pin nor the request says so. */
  defaults: Readonly<Record<SharedPath, SharedProfile>>;
  /** Of filters in the form of the first versions. */
  deprecation: Deprecation;
};

/** A profile, and what it has for an operation. */
export type Candidate<T> = { profile: Profile; has: T };

/** The profiles of a path that have something for an operation. */
export function candidatesOf<T>(group: PathGroup, pick: (profile: Profile) => T | undefined): Candidate<T>[] {
  return group.profiles.flatMap((profile) => {
    const has = pick(profile);
    return has === undefined ? [] : [{ profile, has }];
  });
}

/** What the chosen profile has for the operation. */
export function choose<T>(
  operation: 'list' | 'create',
  { shared, prefix }: PathGroup,
  candidates: readonly Candidate<T>[],
  request: FastifyRequest,
  { defaults }: ProfileOptions,
): T {
  const query = request.query as Record<string, unknown>;
  const name =
    shared === undefined
      ? candidates[0]?.profile.name
      : resolveProfile({
          path: shared,
          operation,
          query,
          cursorOf: dialectOf(query.cursor),
          body: request.body,
          pinned: callerOf(request).profiles[shared],
          fallback: defaults[shared],
        });
  const chosen = candidates.find(({ profile }) => profile.name === name);
  if (chosen === undefined) throw new Error(`${name} does not serve ${operation} on ${prefix}`);
  return chosen.has;
}

/** The hooks that let a request in, before its body is read. */
export function guarded(
  { authenticate }: ProfileOptions,
  scopes: readonly string[],
  may: (caller: Caller, id: string) => void,
) {
  return {
    onRequest: [
      authenticate,
      async (request: FastifyRequest) => {
        const caller = callerOf(request);
        requireScope(caller, scopes);
        may(caller, idOf(request));
      },
    ],
  };
}

/** How a route writes errors, and what the description of the interface says about it. */
export function describe(
  { prefix }: PathGroup,
  candidates: readonly Candidate<unknown>[],
  about: Omit<Operation, 'operationId' | 'tag' | 'errors'> & {
    operation: string;
    refusals: readonly ErrorKind[];
  },
) {
  const { operation, refusals, summary, description, ...others } = about;
  const names = candidates.map(({ profile }) => profile.name).sort();
  // Without bodies there is nothing to choose.
  const choice =
    names.length > 1 && operation !== 'remove'
      ? `Profiles ${names.join(', ')}: the one that the application has pinned, else the one that the request fits, else the default.`
      : undefined;
  const [first] = candidates;
  if (first === undefined) throw new Error(`nobody serves ${operation} on ${prefix}`);
  const { errorBody } = first.profile;
  return {
    config: { errorBody },
    schema: documented({
      ...others,
      operationId: [operation, ...prefix.split('/').filter(Boolean)].join('_'),
      summary: `${summary} (${names.join(', ')})`,
      description: [description, choice].filter(Boolean).join(' '),
      tag: prefix,
      errors: { body: errorBody, kinds: refusals },
    }),
  };
}

/** Where one user of a path is. */
export function pathOfOne({ prefix, idName = 'id' }: PathGroup): string {
  return `${prefix}/:${idName}`;
}

/** The user that the path names; empty where it names none. */
export function idOf(request: FastifyRequest): string {
  const [id = ''] = Object.values(request.params as Record<string, string>);
  return id;
}
