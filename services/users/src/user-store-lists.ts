import type { KeysetPage, ListQuery, ListSource, OffsetPage, Rows } from '@gatehouse/kit/list-query';
import type { DocumentCollection } from '@gatehouse/mongo/collection';
import type { Counts } from '@gatehouse/mongo/counts';
import { LONGEST_QUERY_MS } from '@gatehouse/mongo/database';
import { keysetPage, offsetPage, pageOfFew } from '@gatehouse/mongo/keyset';
import type { User, UserField } from './user.ts';
import { PUBLIC_FIELDS, type PublicDocument, read } from './user-store-document.ts';
import { countFilterOf, planOf } from './user-store-plan.ts';

type Listed = PublicDocument & Record<string, unknown>;

/** What lists are read with: the fields of a user, and the keys that they are sorted by. */
const PROJECTION = { ...PUBLIC_FIELDS, username_key: 1, email_key: 1 };

const NOBODY: Rows<User> = { items: [], hasNext: false, hasPrevious: false };

/** Lists of users in MongoDB. The database sorts none of them: it reads an index in its order. */
export function createUserLists(
  collection: DocumentCollection,
  counts: Pick<Counts, 'count'>,
): ListSource<UserField, User> {
  async function rows(query: ListQuery<UserField>, page: OffsetPage | KeysetPage): Promise<Rows<User>> {
    const plan = planOf(query);
    if (plan === undefined) return NOBODY;
    const { few, ...list } = plan;
    const source = { ...list, collection, projection: PROJECTION };
    let found: Rows<Listed>;
    if (few) {
      const all = collection.find(plan.filter ?? {}).hint(plan.index);
      found = pageOfFew(plan, await all.project<Listed>(PROJECTION).toArray(), page);
    } else {
      found = await ('offset' in page ? offsetPage<Listed>(source, page) : keysetPage<Listed>(source, page));
    }
    return { ...found, items: found.items.map(read) };
  }

  return {
    byOffset: rows,
    byKeyset: rows,
    async count(conditions) {
      const filter = countFilterOf(conditions);
      if (filter === undefined) return 0;
      const key = conditions.length === 0 ? '' : JSON.stringify(conditions);
      return counts.count(key, () => collection.countDocuments(filter, { maxTimeMS: LONGEST_QUERY_MS }));
    },
  };
}
