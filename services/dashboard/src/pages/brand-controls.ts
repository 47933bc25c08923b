import { COLOUR, PNG } from '@gatehouse/web/branding';
import { type Labelled, labelled } from '@gatehouse/web/form';
import { type Html, html } from '@gatehouse/web/html';
import type { Fields } from '../http/forms.ts';

/** The colour of a picker that nobody has used, as a picker is never empty. */
const UNPICKED = '#0b5a4f';
const pickedBy = (text: string) => (COLOUR.test(text) ? text : UNPICKED);

/** A colour as text, and a picker beside it. */
export function colourField(it: Labelled, value: string): Html {
  const { name, label } = it;
  return labelled(
    it,
    (attributes) =>
      html`<div class="beside"><input type="color" name="${name}.picked" value="${pickedBy(value)}" aria-label="${label}: choose" data-picks="${name}"><input id="${name}" name="${name}" type="text" value="${value}" placeholder="#rrggbb" autocomplete="off" autocapitalize="none" spellcheck="false"${attributes}><input type="hidden" name="${name}.shown" value="${value}"></div>`,
  );
}

/** The colour that was sent: the text if it was changed, or else that of the picker. */
export function sentColour(fields: Fields, name: string): string {
  const text = fields.text(name).toLowerCase();
  const picked = fields.text(`${name}.picked`);
  const shown = fields.text(`${name}.shown`);
  return text === shown && picked !== pickedBy(shown) ? picked || text : text;
}

/** A picture as a data: URL, and a file that replaces it. */
export function pictureField(it: Labelled, value: string): Html {
  const { name } = it;
  return labelled(
    it,
    (attributes) =>
      html`<div class="beside"><img class="picture" alt=""${value === '' ? html` hidden` : html` src="${value}"`}><input id="${name}" name="${name}.file" type="file" accept="image/png,image/jpeg,image/webp"${attributes}><input type="hidden" name="${name}" value="${value}"></div>
<p class="hint" role="status"></p>${value !== '' && html`<div class="check"><input type="checkbox" id="${name}-removed" name="${name}.removed" value="yes"><label for="${name}-removed">Remove the picture</label></div>`}`,
  );
}

/** The picture that was sent. The API says what is wrong with one that is no PNG, or too large. */
export function sentPicture(fields: Fields, name: string): string {
  const file = fields.file(`${name}.file`)?.content;
  if (file !== undefined && file.length > 0) return PNG + file.toString('base64');
  return fields.has(`${name}.removed`) ? '' : fields.text(name);
}
