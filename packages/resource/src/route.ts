import type { ErrorKind } from '@gatehouse/kit/errors';
import { profileInCursor } from '@gatehouse/lists/cursor';
import { documented, type Operation } from '@gatehouse/openapi/operation';
import { requireScope } from '@gatehouse/tokens/caller';
import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { callerOf } from './authenticate.ts';
import { type Candidate, chooseProfile } from './choose-profile.ts';
import type { Profile, ResourceTypes } from './profile.ts';
import type { Access, ResourcePath } from './resource.ts';

/** The profiles of a path that serve an operation, and what each has for it. */
export function candidatesOf<R extends ResourceTypes, T>(
  { profiles }: ResourcePath<R>,
  pick: (profile: Profile<R>) => T | undefined,
): Candidate<T>[] {
  return profiles.flatMap((profile) => {
    const has = pick(profile);
    return has === undefined ? [] : [{ name: profile.name, has }];
  });
}

/** What the profile that answers this request has for the operation. */
export function chosenFor<T>(
  request: FastifyRequest,
  candidates: readonly Candidate<T>[],
  options: { pin: string | undefined; fallback: string | undefined; matches: (has: T) => boolean },
): T {
  const { pin, fallback, matches } = options;
  const pinned = pin === undefined ? undefined : callerOf(request).profiles[pin];
  const cursorProfile = profileInCursor((request.query as Record<string, unknown>).cursor);
  return chooseProfile(candidates, { pinned, cursorProfile, matches, fallback }).has;
}

/** The hook that lets a request in, before its body is read. */
export function guarded(authenticate: onRequestAsyncHookHandler, { scopes, authorize }: Access) {
  const onRequest: onRequestAsyncHookHandler = async function (request, reply) {
    await authenticate.call(this, request, reply);
    const caller = callerOf(request);
    if (authorize === undefined) requireScope(caller, scopes);
    else authorize(caller, idOf(request));
  };
  return { onRequest };
}

/** How a route writes errors, and what the OpenAPI document says of it. */
export function describeRoute<R extends ResourceTypes>(
  { prefix, profiles }: ResourcePath<R>,
  candidates: readonly Candidate<unknown>[],
  { scopes, description: ofAccess }: Access,
  about: Omit<Operation, 'operationId' | 'tag' | 'errors' | 'scopes'> & {
    operation: string;
    refusals: readonly ErrorKind[];
    verbatim?: string | undefined;
  },
) {
  const { operation, refusals, verbatim, summary, description, ...others } = about;
  const names = candidates.map(({ name }) => name).sort();
  const first = profiles.find(({ name }) => name === candidates[0]?.name);
  if (first === undefined) throw new Error(`no profile serves ${operation} on ${prefix}`);
  // Without bodies there is nothing to choose.
  const choice =
    names.length > 1 && operation !== 'remove'
      ? `Profiles ${names.join(', ')}: the one that the application has pinned, else the one that the request fits, else the default.`
      : undefined;
  return {
    config: { errorBody: first.errorBody, verbatim },
    schema: documented({
      ...others,
      scopes,
      operationId: [operation, ...prefix.split('/').filter(Boolean)].join('_'),
      summary: `${summary} (${names.join(', ')})`,
      description: [description, ofAccess, choice].filter(Boolean).join(' '),
      tag: prefix,
      errors: { body: first.errorBody, kinds: refusals },
    }),
  };
}

/** Where one entity of a path is. */
export function pathOfOne<R extends ResourceTypes>({ prefix, idName = 'id' }: ResourcePath<R>): string {
  return `${prefix}/:${idName}`;
}

/** The id in the path of a request; empty where the path has none. */
export function idOf(request: FastifyRequest): string {
  const [id = ''] = Object.values(request.params as Record<string, string>);
  return id;
}
