/** A map that drops the entry that was used the longest time ago when it is full, and each entry after its time. */
export function createBoundedMap<Value>(options: { max: number; ttlSeconds?: number; now?: () => number }) {
  const { max, ttlSeconds = Number.POSITIVE_INFINITY, now = () => Date.now() / 1000 } = options;
  const entries = new Map<string, { value: Value; until: number }>();

  /** The value, which does not count as used. */
  function peek(key: string): Value | undefined {
    const entry = entries.get(key);
    if (entry === undefined || entry.until > now()) return entry?.value;
    entries.delete(key);
    return undefined;
  }

  return {
    peek,
    get(key: string): Value | undefined {
      const value = peek(key);
      const entry = value === undefined ? undefined : entries.get(key);
      if (entry === undefined) return undefined;
      // A map keeps the order of insertion.
      entries.delete(key);
      entries.set(key, entry);
      return value;
    },
    set(key: string, value: Value): void {
      entries.delete(key);
      entries.set(key, { value, until: now() + ttlSeconds });
      const oldest = entries.size > max ? entries.keys().next().value : undefined;
      if (oldest !== undefined) entries.delete(oldest);
    },
    delete(key: string): void {
      entries.delete(key);
    },
  };
}
