import type { Role } from '@gatehouse/tokens/scopes';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { Names } from '../api/names.ts';

/** A column of a table; `names` are those of the people in its rows, by their ids. The first one is the name of the row. */
export type Column<T> = {
  title: string;
  number?: boolean;
  /** The lowest role that sees it. */
  role?: Role;
  show(row: T, names: Names): Content;
  /** In the first column of a list: what stands below the link to the row's page. */
  below?(row: T): Content;
};

/** A table whose rows become blocks where the screen is narrow. */
export function table<T>(columns: readonly Column<T>[], data: readonly T[], names: Names = new Map()): Html {
  const [name, ...others] = columns;
  return html`<div class="table"><table class="stacked"><thead><tr>${columns.map(
    (column) => html`<th scope="col"${column.number && html` class="number"`}>${column.title}</th>`,
  )}</tr></thead><tbody>${data.map(
    (row) =>
      html`<tr><th scope="row"><div>${name?.show(row, names)}</div></th>${others.map(
        (column) =>
          html`<td data-label="${column.title}"${column.number && html` class="number"`}><div>${column.show(row, names)}</div></td>`,
      )}</tr>`,
  )}</tbody></table></div>`;
}
