import type { EarlierCreation, IdempotencyKey } from '@gatehouse/domain/idempotency-key';
import type { IfVersion } from '@gatehouse/domain/if-version';
import type { ListSource } from '@gatehouse/domain/list-query';
import type { Pin } from '@gatehouse/domain/profile-pins';
import type { RequestInfo } from '@gatehouse/server/requests';
import type { Caller } from '@gatehouse/tokens/caller';
import type { ListStreams } from './list-streams.ts';
import type { Profile, ResourceTypes } from './profile.ts';

/** A resource as a value, which mountResource turns into routes. */
export type Resource<R extends ResourceTypes> = {
  /** For the OpenAPI document, such as `a user` and `users`. */
  noun: { one: string; many: string };
  /** The prefix of its ids, such as `usr`. */
  idPrefix: string;
  paths: readonly ResourcePath<R>[];
  operations: Operations<R>;
  /** The entity in the examples of the OpenAPI document. */
  example: R['entity'];
};

/**
 * A path and its profiles. Where several serve an operation, an application chooses by a pin or by the form of its
 * requests; otherwise the default of the deployment answers, or the first (see chooseProfile).
 */
export type ResourcePath<R extends ResourceTypes> = {
  prefix: string;
  /** The name of the path parameter for the id; `id` by default. */
  idName?: string;
  pin?: Pin;
  profiles: readonly Profile<R>[];
};

/** The use cases behind the routes, and the access to them. An absent operation is not served in any profile. */
export type Operations<R extends ResourceTypes> = {
  list?: Access & {
    source(caller: Caller): ListSource<R['field'], R['entity']>;
    /** Streams the list to clients that accept `text/event-stream`. */
    streams?: Pick<ListStreams<R['entity']>, 'open'>;
  };
  create?: Access & {
    /** Whether the entity is worked on afterwards: the response is then 202. */
    queues?: boolean;
    import?: Import<R>;
  } & (Creation<R> | KeyedCreation<R>);
  read?: Access & { run(id: string, caller: Caller): Promise<R['entity']> };
  /** Throws `precondition_failed` unless the entity is at one of the versions. `request` is where the change comes from. */
  update?: Access & {
    /** See {@link Creation}. */
    dryRun?: true;
    run(
      id: string,
      changes: R['changes'],
      caller: Caller,
      ifVersion: IfVersion,
      request: RequestInfo,
    ): Promise<R['entity']>;
  };
  /** As update. */
  remove?: Access & {
    /** Whether there are entities that cannot be removed: it then throws `conflict`. */
    conflicts?: boolean;
    run(id: string, caller: Caller, ifVersion: IfVersion, request: RequestInfo): Promise<void>;
  };
};

/**
 * `draft.id` is the id to use: a retry with the same Idempotency-Key has the same one. `request` is where the draft comes
 * from.
 */
type Creation<R extends ResourceTypes> = {
  run(draft: R['draft'] & { id: string }, caller: Caller, request: RequestInfo): Promise<R['entity']>;
  findByKey?: never;
  /** Whether it can be run up to its first write (@gatehouse/core/dry-run): its first effect is a write to a defined collection. */
  dryRun?: true;
};

/**
 * A creation that keeps its Idempotency-Keys in the documents that it creates, so that a process that dies leaves no lock
 * behind (createDocumentKeys in @gatehouse/data/document-keys). `run` stores the key, if there is one, in the write that
 * creates the document, and throws `conflict` when it is taken; each attempt has an id of its own. `findByKey` throws `forbidden` as
 * `run` does, and returns what was created with a key as it was then: the response is rendered again from it, and must be the same as the first one.
 */
type KeyedCreation<R extends ResourceTypes> = {
  run(
    draft: R['draft'] & { id: string },
    caller: Caller,
    key: IdempotencyKey | undefined,
  ): Promise<R['entity']>;
  findByKey(
    key: IdempotencyKey,
    draft: R['draft'],
    caller: Caller,
  ): Promise<EarlierCreation<R['entity']> | undefined>;
  dryRun?: never;
};

/**
 * Many drafts in one body (application/x-ndjson), one in each line, which create or update entities. Mounted where the path
 * has one profile that creates.
 */
export type Import<R extends ResourceTypes> = {
  /** A sentence for the OpenAPI document: who may import, and how what exists is recognized. */
  description: string;
  /** Throws `forbidden` unless the caller, who may create, may import. */
  authorize(caller: Caller): void;
  /** The key that identifies the entity of a draft, if it has one. Drafts with the same key are run in their order. */
  keyOf(draft: R['draft']): string | undefined;
  /** `draft.id` is for an entity that is created. */
  run(draft: R['draft'] & { id: string }, caller: Caller): Promise<{ id: string; isNew: boolean }>;
};

/** The permission that an operation needs. It is checked before the body of the request is read. */
export type Access = {
  /** Any one of these scopes is required. */
  scopes: readonly string[];
  /** A sentence about the permission for the OpenAPI document. */
  description?: string;
  /** The scopes of which this caller needs one for the entity with this id; `scopes` by default. */
  scopesFor?(caller: Caller, id: string): readonly string[];
  /**
   * Throws `forbidden` unless the caller, who has a scope, may do this to the entity with this id, which is empty if the
   * path has none.
   */
  authorize?(caller: Caller, id: string): void;
};
