import { FILTER_LIMITS, type FilterField } from './filters.ts';

/** RFC 3339 §5.6: a day that there is, in a leap year or not. */
const DAY = [
  '[0-9]{4}-(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])',
  '[0-9]{4}-(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)',
  '[0-9]{4}-02-(?:0[1-9]|1[0-9]|2[0-8])',
  '(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29',
].join('|');
const TIME = '[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?';
const OFFSET = '(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])';

/** One value of each type in a query, as a regular expression. Values of several are separated by commas. */
const ONE: Record<FilterField<string>['type'], string> = {
  string: `[^,\\u0000]{1,${FILTER_LIMITS.length}}`,
  date: `(?:${DAY})(?:${TIME}${OFFSET})?`,
  integer: `-?(?:[0-9]{1,15}|${upTo(String(Number.MAX_SAFE_INTEGER))})`,
  number: '-?(?=[0-9.]{1,16}(?:,|$))[0-9]+(?:\\.[0-9]+)?',
  boolean: '(?:true|false)',
  search: `[^\\u0000]{1,${FILTER_LIMITS.length}}`,
};

/** The pattern of a filter's parameter: of one value, or of several by comma. */
export function filterPattern({ type, values }: FilterField<string>, several: boolean): string {
  const one = values === undefined ? ONE[type] : `(?:${values.map(escaped).join('|')})`;
  const more = several && type !== 'search' ? `(?:,${one}){0,${FILTER_LIMITS.values - 1}}` : '';
  return `^${one}${more}$`;
}

/** The pattern of the texts that readDate reads. */
export const DATE_PATTERN = filterPattern({ field: '', type: 'date' }, false);

/** The limits of a plain parameter, `field=value`, as JSON Schema keywords: its comma is part of the value. */
export function plainLimits({ type }: FilterField<string>): object {
  if (type === 'integer') return { minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
  if (type === 'number' || type === 'boolean') return {};
  if (type === 'date') return { pattern: DATE_PATTERN };
  return { minLength: 1, maxLength: FILTER_LIMITS.length, pattern: '^[^\\u0000]*$' };
}

/** A regular expression for the numbers with as many digits as this one that are not greater. */
function upTo(max: string): string {
  const smaller = [...max].flatMap((digit, i) =>
    digit === '0' ? [] : [`${max.slice(0, i)}[0-${Number(digit) - 1}][0-9]{${max.length - i - 1}}`],
  );
  return [...smaller, max].join('|');
}

function escaped(value: string): string {
  return value.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
