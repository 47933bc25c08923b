/** A page of a list in the cursor envelope (interface §2.8). */
export type ApiPage<T> = {
  data: T[];
  links?: { next?: string; prev?: string };
  meta?: { totalItems?: number };
  /** The search did not look at everything in the list. */
  isIncomplete?: boolean;
};

/** The cursor in one of the links of a page. */
export function cursorOf(link: string | undefined): string | undefined {
  if (link === undefined) return undefined;
  return new URL(link, 'http://localhost').searchParams.get('cursor') ?? undefined;
}

/**
 * The filters that have a value, as parameters of a request (§4.4). A comma separates values there, so that a value with
 * one is asked for by a range of which it is both ends.
 */
export function filters(fields: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([field, value]) => {
      if (value === undefined || value === '') return [];
      if (!value.includes(',')) return [[`filter[${field}]`, value]];
      return [
        [`filter[${field}][gte]`, value],
        [`filter[${field}][lte]`, value],
      ];
    }),
  );
}

/** The filter for texts that begin with this one. */
export function beginsWith(field: string, text: string): Record<string, string> {
  // No text that begins so comes after the last character of Unicode's basic plane that is assigned.
  return text === '' ? {} : { [`filter[${field}][gte]`]: text, [`filter[${field}][lt]`]: `${text}\u{ffdc}` };
}
