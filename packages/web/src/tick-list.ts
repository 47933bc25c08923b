import { type Content, type Html, html } from './html.ts';

/** An entry of a list: its names, and what else there is to say about it. */
export type TickEntry = { id: string; names: readonly Content[]; facts: readonly Content[] };

/** The most boxes of a form, which may have 16 KiB; further entries have none, as if they were ticked. */
const MAX_BOXES = 200;
const LISTED = 'listed';

/** Entries in groups, for a form: ticked, but for those with the ids in `unticked`. */
export function tickList(
  groups: readonly { title: string; entries: readonly TickEntry[] }[],
  unticked: readonly string[],
): Html {
  const boxes = groups.flatMap(({ entries }) => entries.map(({ id }) => id)).slice(0, MAX_BOXES);
  const listed = (parts: readonly Content[]) =>
    parts.filter((part) => part !== false).map((part, i) => [i > 0 && ', ', part]);
  const row = ({ id, names, facts }: TickEntry) =>
    boxes.includes(id)
      ? html`<div class="check"><input type="checkbox" id="${id}" name="${id}" value="yes" autocomplete="off" aria-describedby="${id}-hint"${!unticked.includes(id) && html` checked`}><label for="${id}">${listed(names)}</label><p class="hint" id="${id}-hint">${listed(facts)}</p></div>`
      : html`<p>${listed([...names, ...facts])}</p>`;
  return html`<input type="hidden" name="${LISTED}" value="${boxes.join(' ')}">
${groups.map(({ title, entries }) => entries.length > 0 && html`<fieldset><legend>${title}</legend>${entries.map(row)}</fieldset>`)}`;
}

/** The ids of the entries that were unticked in a form. An entry that was not on its page is not among them. */
export function untickedIn(sent: (name: string) => string | undefined): string[] {
  return (sent(LISTED) ?? '').split(' ').filter((id) => id !== '' && !sent(id));
}
