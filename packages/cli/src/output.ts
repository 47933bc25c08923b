/** An object of the API. */
export type Row = Readonly<Record<string, unknown>>;
type Stream = { write(text: string): unknown; isTTY?: boolean };

/** Writes results to stdout, and everything else to stderr, so that the results can be piped. */
export type Output = ReturnType<typeof createOutput>;

const CODES = { bold: 1, dim: 2, red: 31, green: 32 } as const;

/** With `json`, results are written as the API has them, and otherwise for people. */
export function createOutput(options: { stdout: Stream; stderr: Stream; json: boolean; colors: boolean }) {
  const { stdout, stderr, json, colors } = options;
  const paint = (text: string, color: keyof typeof CODES) =>
    colors ? `\u001b[${CODES[color]}m${text}\u001b[0m` : text;
  return {
    json,
    paint,
    /** The result of a command. */
    result(value: unknown, text: string): void {
      stdout.write(json ? `${jsonOf(value, 2)}\n` : `${text}\n`);
    },
    /** One of many results: an object a line (https://jsonlines.org). */
    line(value: unknown, text: string): void {
      stdout.write(json ? `${jsonOf(value)}\n` : `${text}\n`);
    },
    note(text: string): void {
      stderr.write(`${text}\n`);
    },
    /** Shows a text in a terminal until the work is done. */
    async progress<T>(text: string, work: Promise<T>): Promise<T> {
      if (!stderr.isTTY) return work;
      stderr.write(`${text}…`);
      try {
        return await work;
      } finally {
        stderr.write('\r\u001b[K');
      }
    },
    /** Rows with the named fields in columns, whose titles are the names. */
    table(fields: readonly string[], rows: readonly Row[]): string {
      const titles = fields.map((it) => it.replace(/_at$/, '').replaceAll('_', ' ').toUpperCase());
      const cells = [titles, ...rows.map((row) => fields.map((field) => cell(row[field])))];
      const widths = fields.map((_, at) =>
        cells.reduce((width, row) => Math.max(width, row[at]?.length ?? 0), 0),
      );
      const lines = cells.map((row) =>
        row
          .map((text, at) => text.padEnd(widths[at] ?? 0))
          .join('  ')
          .trimEnd(),
      );
      return [paint(lines[0] ?? '', 'bold'), ...lines.slice(1)].join('\n');
    },
    /** The fields of one object. */
    facts(fields: Row): string {
      const rows = Object.entries(fields).filter(([, value]) => value !== undefined);
      const width = Math.max(...rows.map(([name]) => name.length));
      return rows
        .map(([name, value]) => `${paint(cell(name).padEnd(width), 'dim')}  ${cell(value)}`)
        .join('\n');
    },
  };
}

const TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/;

/** A value of the API in one line, without control characters, which a name that somebody else chose may have. */
export function cell(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-';
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(cell).join(', ');
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return withoutControls(text.replace(TIME, '$1 $2')).replaceAll('\n', '�');
}

/** JSON in which all control characters are escaped. JSON.stringify escapes those up to U+001F only. */
export function jsonOf(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replaceAll(
    /(?!\n)\p{Cc}|\p{Bidi_Control}/gu,
    (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A text of a deployment without control characters, except line breaks. */
export function withoutControls(text: string): string {
  return text.replaceAll(/(?!\n)\p{Cc}|\p{Bidi_Control}/gu, '�');
}
