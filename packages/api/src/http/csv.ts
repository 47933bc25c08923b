import { stringify } from 'csv-stringify/sync';

/** The media type of RFC 4180, and RFC 7111 §3 for the header line. */
export const CSV_MEDIA_TYPE = 'text/csv; charset=utf-8; header=present';

/**
 * Where a spreadsheet would begin a cell, and calculate with it: at the beginning of a text and, as many programs separate
 * cells by a semicolon or tab and then know no quotes, after those and after line ends. The signs are also taken in their wide
 * and small forms, and after what is dropped on import (https://owasp.org/www-community/attacks/CSV_Injection). An apostrophe
 * counts as dropped, so that unguarded() can tell those of guarded() from the text's own. Each run is looked at once, however
 * long it is: what an import reads has any length.
 */
const SEPARATORS = String.raw`[;\uff1b\ufe54\u037e]`;
const DROPPED = String.raw`[\s\p{Cf}\p{Cc}"']`;
const SIGN = String.raw`[=+\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b]`;
const FORMULA = new RegExp(`(?:(${SEPARATORS})|(?<!${DROPPED}))(${DROPPED}*)(${SIGN})`, 'gu');

/** The text with an apostrophe before whatever a spreadsheet would take for a formula. */
export function guarded(text: string): string {
  return text.replace(FORMULA, (_, separator = '', dropped: string, sign: string, at: number) => {
    const first = separator !== '' || at === 0 ? "'" : '';
    return `${separator}${first}${dropped.replaceAll(/[\t\r\n]/g, "$&'")}${sign}`;
  });
}

/** The text before guarded() changed it. */
export function unguarded(text: string): string {
  return text.replace(FORMULA, (_, separator = '', dropped: string, sign: string, at: number) => {
    const guards = separator !== '' || at === 0 ? /(^|[\t\r\n])'/g : /([\t\r\n])'/g;
    return `${separator}${dropped.replaceAll(guards, '$1')}${sign}`;
  });
}

const FORMAT = {
  record_delimiter: 'windows',
  // Spreadsheets end a record at any line end outside of quotes; by default only this delimiter is quoted.
  quote_record_delimiter: true,
  cast: { string: guarded },
} as const;

/** Lines of CSV (RFC 4180), with an apostrophe before text that a spreadsheet would take for a formula. */
export function csvLines(records: readonly (readonly unknown[])[]): string {
  return stringify(records as unknown[][], FORMAT);
}

/** The first line of a file. The byte order mark makes Excel read the file as UTF-8. */
export function csvHeader(columns: readonly string[]): string {
  return `\ufeff${csvLines([columns])}`;
}
