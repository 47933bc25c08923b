import type { ErrorKind } from '@gatehouse/core/errors';
import { requireScope } from '@gatehouse/tokens/caller';
import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { profileInCursor } from '../lists/cursor.ts';
import { documented, type Operation } from '../openapi/operation.ts';
import { callerOf } from './authenticate.ts';
import { type Candidate, chooseProfile } from './choose-profile.ts';
import type { Profile, ResourceTypes } from './profile.ts';
import type { Access, ResourcePath } from './resource.ts';

/** The profiles of a path that serve an operation, each with its definition of the operation. */
export function candidatesFor<R extends ResourceTypes, T>(
  { profiles }: ResourcePath<R>,
  pick: (profile: Profile<R>) => T | undefined,
): Candidate<T>[] {
  return profiles.flatMap((profile) => {
    const definition = pick(profile);
    return definition === undefined ? [] : [{ name: profile.name, definition }];
  });
}

/** Chooses the profile for a request; returns its definition of the operation. */
export function definitionFor<T>(
  request: FastifyRequest,
  candidates: readonly Candidate<T>[],
  options: { pin: string | undefined; fallback: string | undefined; matches: (definition: T) => boolean },
): T {
  const [only, ...others] = candidates;
  if (only !== undefined && others.length === 0) return only.definition;
  const { pin, fallback, matches } = options;
  const pinned = pin === undefined ? undefined : callerOf(request).profiles[pin];
  const cursorProfile = profileInCursor((request.query as Record<string, unknown>).cursor);
  return chooseProfile(candidates, { pinned, cursorProfile, matches, fallback }).definition;
}

/** The hook that checks a request's credential and permission before its body is read. */
export function accessHooks(authenticate: onRequestAsyncHookHandler, access: Access) {
  const onRequest: onRequestAsyncHookHandler = async function (request, reply) {
    await authenticate.call(this, request, reply);
    const caller = callerOf(request);
    const id = idOf(request);
    requireScope(caller, access.scopesFor?.(caller, id) ?? access.scopes);
    access.authorize?.(caller, id);
  };
  return { onRequest };
}

/** The config (how errors are written) and the schema (for the OpenAPI document) of a route. */
export function describeRoute<R extends ResourceTypes>(
  { prefix, profiles }: ResourcePath<R>,
  candidates: readonly Candidate<unknown>[],
  { scopes, description: accessDescription }: Access,
  about: Omit<Operation, 'operationId' | 'tag' | 'errors' | 'scopes'> & {
    operation: string;
    errors: readonly ErrorKind[];
    verbatim?: string | undefined;
    dryRun?: true | undefined;
  },
) {
  const { operation, errors, verbatim, dryRun, summary, description, ...others } = about;
  const names = candidates.map(({ name }) => name).sort();
  const first = profiles.find(({ name }) => name === candidates[0]?.name);
  if (first === undefined) throw new Error(`no profile serves ${operation} on ${prefix}`);
  // Profiles differ in their bodies, and a deletion has none.
  const choice =
    names.length > 1 && operation !== 'remove'
      ? `Profiles ${names.join(', ')}: the one that the application has pinned, else the one that the request matches, else the default.`
      : undefined;
  return {
    config: { errorBody: first.errorBody, verbatim, dryRun },
    schema: documented({
      ...others,
      scopes,
      operationId: [operation, ...prefix.split('/').filter(Boolean)].join('_'),
      summary: `${summary} (${names.join(', ')})`,
      description: [description, accessDescription, choice].filter(Boolean).join(' '),
      tag: prefix,
      errors: { body: first.errorBody, kinds: errors },
    }),
  };
}

/** The path of one entity, as a route pattern. */
export function entityPath<R extends ResourceTypes>({ prefix, idName = 'id' }: ResourcePath<R>): string {
  return `${prefix}/:${idName}`;
}

/** The id in the path of a request; empty if the path has none. */
export function idOf(request: FastifyRequest): string {
  const [id = ''] = Object.values(request.params as Record<string, string>);
  return id;
}
