/** A table in Markdown; every row has a cell for each title. */
export function markdownTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`.replaceAll(/ {2,}/g, ' ');
  return [line(titles), `|${'---|'.repeat(titles.length)}`, ...rows.map(line)].join('\n');
}
