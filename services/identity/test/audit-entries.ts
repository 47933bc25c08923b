import type { AuditField, AuditRecord, AuditStore } from '../src/core/audit/audit.ts';

/** The latest entries of the log with these values. */
export async function latestEntries(
  { list }: Pick<AuditStore, 'list'>,
  by: Partial<Record<AuditField, string>>,
  limit: number,
): Promise<AuditRecord[]> {
  const conditions = Object.entries(by).map(([field, value]) => {
    return { field: field as AuditField, operator: 'eq' as const, values: [value] };
  });
  const { items } = await list.byKeyset({ conditions, sort: { field: 'id', descending: true } }, { limit });
  return items;
}
