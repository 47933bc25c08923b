import type { Api } from './api.ts';
import { concurrently } from './concurrently.ts';
import { MAX_VALUES } from './names.ts';
import type { ApiPage } from './pages.ts';

/** The most characters of one filter as it is written in a URL, and of one value. */
const MAX_CHARACTERS = 3500;
const MAX_LENGTH = 256;

/** The rows of a list whose field has one of these values, in no particular order. A value with a comma is not looked for. */
export async function rowsWith<T>(
  api: Api,
  path: string,
  field: string,
  values: readonly string[],
): Promise<T[]> {
  const groups: string[][] = [];
  let room = 0;
  for (const value of new Set(values)) {
    if (value === '' || value.includes(',') || value.length > MAX_LENGTH) continue;
    const length = encodeURIComponent(`${value},`).length;
    room -= length;
    if (room < 0 || groups.at(-1)?.length === MAX_VALUES) {
      groups.push([]);
      room = MAX_CHARACTERS - length;
    }
    groups.at(-1)?.push(value);
  }
  const pages = await concurrently(groups, (group) =>
    api.get<ApiPage<T>>(path, { cursor: '', limit: MAX_VALUES, [`filter[${field}][in]`]: group.join(',') }),
  );
  return pages.flatMap(({ data }) => data);
}
