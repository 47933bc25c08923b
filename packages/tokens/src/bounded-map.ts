/** A map that holds so many entries at most: a new one puts out the oldest. */
export type BoundedMap<T> = {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
  delete(key: string): void;
  readonly size: number;
};

export function createBoundedMap<T>(size: number): BoundedMap<T> {
  const entries = new Map<string, T>();
  return {
    get: (key) => entries.get(key),
    set(key, value) {
      // A Map iterates in the order of insertion, which a value that is replaced does not change.
      entries.delete(key);
      if (entries.size >= size) {
        const oldest = entries.keys().next();
        if (!oldest.done) entries.delete(oldest.value);
      }
      entries.set(key, value);
    },
    delete: (key) => void entries.delete(key),
    get size() {
      return entries.size;
    },
  };
}
