import type { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import type { StoredOf } from '@gatehouse/domain/fields';
import { wordsOf } from '@gatehouse/domain/search-words';
import { APPLICATION, type Application } from '../application.ts';

export type ApplicationDocument = StoredOf<typeof APPLICATION> & {
  /** The words of the name, for searches. */
  words: string[];
  /** From 0 to MAX_APPLICATIONS - 1, unique for an owner, which limits their applications. Absent from deleted ones. */
  slot?: number;
  deleted_at?: Date | null;
  /** People other than the owner who have made something in it. */
  givers?: string[];
  /** The epoch of the owner's account for which this one's was raised last. */
  owner_epoch?: number;
  /** 1 from when the epoch is raised until the revocation has been written. */
  revocation_due?: 1;
  /** 1 from when it gets another owner until its API keys and what people have allowed it have ended. */
  transfer_due?: 1;
};

export type Applications = ReturnType<typeof defineCollection<ApplicationDocument>>;

export const mapper = createDocumentMapper(APPLICATION);
export const applicationOf = mapper.read;

/** Matches an application unless it was deleted. */
export function notDeleted(id: string) {
  return { _id: id, deleted_at: null };
}

export function documentOf(application: Application): ApplicationDocument {
  return { _id: application.id, ...mapper.write(application), words: wordsOf(application.name) };
}
