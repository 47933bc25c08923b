import { type Content, type Html, html } from './html.ts';

/** An entry of a list; one that can be unticked has a box. */
export type TickEntry = { id: string; text: Content; canBeUnticked: boolean };

/** The most boxes of a form, which may have 16 KiB; further entries have none. */
const MAX_BOXES = 200;
const LISTED = 'listed';

/** Entries in groups, for a form: ticked, but for those with the ids in `unticked`. */
export function tickList(
  groups: readonly { title: string; entries: readonly TickEntry[] }[],
  unticked: readonly string[],
): Html {
  const boxes = groups
    .flatMap(({ entries }) => entries.filter((it) => it.canBeUnticked).map(({ id }) => id))
    .slice(0, MAX_BOXES);
  const row = ({ id, text }: TickEntry) =>
    boxes.includes(id)
      ? html`<div class="check"><input type="checkbox" id="${id}" name="${id}" value="yes" autocomplete="off"${!unticked.includes(id) && html` checked`}><label for="${id}">${text}</label></div>`
      : html`<p>${text}</p>`;
  return html`<input type="hidden" name="${LISTED}" value="${boxes.join(' ')}">
${groups.map(({ title, entries }) => entries.length > 0 && html`<fieldset><legend>${title}</legend>${entries.map(row)}</fieldset>`)}`;
}

/** The ids of the entries that were unticked in a form. An entry that was not on its page is not among them. */
export function untickedIn(sent: (name: string) => string | undefined): string[] {
  return (sent(LISTED) ?? '').split(' ').filter((id) => id !== '' && !sent(id));
}
