import type { ListSource } from '@gatehouse/kit/list-query';
import type { Pin } from '@gatehouse/kit/profile-pins';
import type { Caller } from '@gatehouse/tokens/caller';
import type { Profile, ResourceTypes } from './profile.ts';

/** A resource as a value, of which mountResource makes the routes. */
export type Resource<R extends ResourceTypes> = {
  /** How the OpenAPI document speaks of it, such as `user` and `users`. */
  noun: { one: string; many: string };
  /** Of its ids, such as `usr`. */
  idPrefix: string;
  paths: readonly ResourcePath<R>[];
  operations: Operations<R>;
  /** An entity as the examples of the OpenAPI document show it. */
  example: R['entity'];
};

/**
 * A path and the profiles that are served there. Where several serve an operation, applications choose by a pin or by
 * the form of their requests; without a pin, the first profile that serves it answers.
 */
export type ResourcePath<R extends ResourceTypes> = {
  prefix: string;
  /** The name of the id in the path; `id` when absent. */
  idName?: string;
  pin?: Pin;
  profiles: readonly Profile<R>[];
};

/** The use cases behind the routes, and who is permitted to call them. One that is absent is served by no profile. */
export type Operations<R extends ResourceTypes> = {
  list?: Access & { source(caller: Caller): ListSource<R['field'], R['entity']> };
  /** `draft.id` is reserved for the entity: a repetition of the request comes with the same one. */
  create?: Access & { run(draft: R['draft'] & { id: string }, caller: Caller): Promise<R['entity']> };
  read?: Access & { run(id: string, caller: Caller): Promise<R['entity']> };
  /** Throws `precondition_failed` when the entity is in none of the versions. */
  update?: Access & {
    run(id: string, changes: R['changes'], caller: Caller, ifVersion: IfVersion): Promise<R['entity']>;
  };
  /** As update. */
  remove?: Access & { run(id: string, caller: Caller, ifVersion: IfVersion): Promise<void> };
};

/** Which versions a write is for; any when undefined. */
export type IfVersion = readonly number[] | undefined;

/** Who may call an operation. It is checked before the body of the request is read. */
export type Access = {
  /** One of these scopes is needed. */
  scopes: readonly string[];
  /** What more the OpenAPI document says of it. */
  description?: string;
  /**
   * Throws `forbidden` unless the caller may do this to the entity with this id, which is empty where the path has
   * none. It checks the scope too; without it the scope is all that is checked.
   */
  authorize?(caller: Caller, id: string): void;
};
