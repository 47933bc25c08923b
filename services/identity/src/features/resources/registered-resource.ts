import { boolean, date, type EntityOf, id, object, text, value } from '@gatehouse/domain/fields';
import type { Application } from '../../core/applications/application.ts';
import { GIVEN } from '../../core/authority/given.ts';

/** An API or MCP server for which applications get access tokens here (RFC 8707). */
export const RESOURCE = {
  id: id(),
  /** Its URL, as it is in the `aud` of the tokens. */
  identifier: text(),
  /** The URL in its normal form, of which there is one resource. */
  identifierKey: text(),
  name: text(),
  scopes: value<readonly ResourceScope[]>(),
  /** The client_ids of the applications that may ask for it; null for all that sign people in, and the machines of its owner. */
  applications: value<readonly string[] | null>(),
  /** The consent epochs that these applications had when they were listed. */
  listedEpochs: value<readonly number[]>(),
  /** The person who listed them, and the epochs on which that rests. */
  listedBy: object(GIVEN),
  owner: text(),
  /** Whether it cannot be deleted. */
  protected: boolean().default(false),
  /** When the metadata at its URL named this issuer; null until then. */
  verifiedAt: date().default(null),
  createdAt: date(),
  updatedAt: date(),
};
export type ResourceScope = { name: string; description: string };
export type Resource = EntityOf<typeof RESOURCE>;

/** The number of resources of one person. */
export const MAX_RESOURCES = 50;

/** The store of resources. Writes are durable when they resolve. */
export type ResourceStore = {
  /** `full` when the owner has MAX_RESOURCES; `taken` when there is another one with its URL. */
  insert(resource: Resource): Promise<'inserted' | 'full' | 'taken'>;
  /** Those of an owner, or all; the latest first. */
  list(owner?: string): Promise<Resource[]>;
  /** The owners of those that exist, by id. */
  ownersOf(ids: readonly string[]): Promise<Map<string, string>>;
  find(id: string): Promise<Resource | undefined>;
  findByKey(identifierKey: string): Promise<Resource | undefined>;
  /** Undefined when it was changed or removed since it was read. */
  change(
    read: Resource,
    changes: Partial<
      Pick<
        Resource,
        'name' | 'scopes' | 'applications' | 'listedEpochs' | 'listedBy' | 'verifiedAt' | 'protected'
      >
    >,
  ): Promise<Resource | undefined>;
  /** Notes when its URL was proved, which is no change of it. */
  noteVerified(id: string, at: Date): Promise<void>;
  /** Removes it unless it was changed since it was read; returns whether it did. */
  remove(read: Resource): Promise<boolean>;
  removeAllOf(owner: string): Promise<void>;
};

/** Whether an application is listed, and has the owner that it had then: a transfer raises its consent epoch. */
export function isListed(
  { applications, listedEpochs }: Pick<Resource, 'applications' | 'listedEpochs'>,
  { id, consentEpoch }: Pick<Application, 'id' | 'consentEpoch'>,
): boolean {
  const index = applications?.indexOf(id) ?? -1;
  return index >= 0 && listedEpochs[index] === consentEpoch;
}

/** The normal form of the URL of a resource; undefined for a text that is no URL. */
export function identifierKeyOf(identifier: string): string | undefined {
  return URL.parse(identifier)?.href;
}
