type Counts = { requests: number; errors: number };
type UsageRow = Counts & { day: string; client_id: string | null; application: string };

/** The name of the applications that analytics does not count one by one. */
const REST = 'other';

/**
 * Adds up what analytics answers by day and application; days on which an application did nothing are left out.
 * `namesOf` gives the names of applications by their ids: of one that is missing, the id is shown.
 */
export async function usageRows(
  responses: Readonly<Record<keyof Counts, Record<string, unknown>>>,
  namesOf: (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>,
): Promise<UsageRow[]> {
  const rows = new Map<string, Omit<UsageRow, 'application'>>();
  for (const metric of ['requests', 'errors'] as const) {
    const { data } = responses[metric];
    for (const { at, client_id: id, value } of Array.isArray(data)
      ? (data as Record<string, unknown>[])
      : []) {
      if (!Number(value)) continue;
      const [day, client_id] = [String(at).slice(0, 10), typeof id === 'string' ? id : null];
      const key = `${day} ${client_id ?? ''}`;
      const row = rows.get(key) ?? { day, client_id, requests: 0, errors: 0 };
      rows.set(key, { ...row, [metric]: Number(value) });
    }
  }
  const ids = [...rows.values()].flatMap(({ client_id: id }) => (id === null || id === REST ? [] : [id]));
  const names = await namesOf([...new Set(ids)]);
  const nameOf = (id: string | null) => {
    if (id === null) return 'no application';
    return id === REST ? 'all others' : (names.get(id) ?? id);
  };
  return [...rows]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { day, client_id, ...counts }]) => ({
      day,
      client_id,
      application: nameOf(client_id),
      ...counts,
    }));
}
