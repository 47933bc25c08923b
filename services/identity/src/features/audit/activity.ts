import type { KeysetPage } from '@gatehouse/domain/list-query';
import type { AuditStore } from '../../core/audit/audit.ts';
import { entryView } from './audit-routes.ts';

const PAGE = 500;

/** The entries of the audit log about a person, the latest first; where from only if it was the person who acted. */
export function activityOf(store: Pick<AuditStore, 'list'>) {
  return async function* ({ id }: { id: string }) {
    const query = {
      conditions: [{ field: 'subject', operator: 'eq', values: [id] }],
      sort: { field: 'id', descending: true },
    } as const;
    for (let more = true, from: KeysetPage['from']; more; ) {
      const page = await store.list.byKeyset(query, { limit: PAGE, ...(from === undefined ? {} : { from }) });
      for (const { origin, ...entry } of page.items) {
        yield entryView(origin !== undefined && entry.actor === id ? { ...entry, origin } : entry);
      }
      more = page.hasNext && page.last !== undefined;
      if (page.last !== undefined) from = { position: page.last, direction: 'next', inclusive: false };
    }
  };
}
