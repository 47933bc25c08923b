import { alertBox, field, form, type PageForm, problemOf, problemSummary } from './form.ts';
import { type Content, type Html, html } from './html.ts';
import { t } from './language.ts';

/** The question before an act that cannot be undone: on a page of its own, between the click and the act. */
export type Confirmation = {
  /** The data that will be lost, and when it was last used. */
  lost: Content;
  /** Further fields of the form, such as a reason. */
  fields?: Content;
  /** A name to type, if much would be lost. Without one, the button is enough. */
  name?: string;
  /** The text of the button, such as "Revoke key". */
  submit: string;
  /** The page to go back to without the act. */
  back: string;
};

/** The field that distinguishes a confirmed form. */
const FIELD = 'confirmation';
const PLAIN = 'yes';
const WRONG_NAME = { field: FIELD, message: 'The name does not match. Nothing was changed.' };

/** Whether a form was confirmed. White space in the name is ignored, since people cannot see it. */
export function isConfirmed(sent: string | undefined, { name = PLAIN }: Pick<Confirmation, 'name'>): boolean {
  const visible = (text: string) => text.replaceAll(/\s/g, '');
  return sent !== undefined && visible(sent) === visible(name);
}

/** The content of the page that asks. `refused`: the form was sent without the confirmation. */
export function confirmation(it: Confirmation, target: PageForm, refused = false): Html {
  const { name } = it;
  const problems = refused && name !== undefined ? [WRONG_NAME] : [];
  const hidden = name === undefined ? { ...target.hidden, [FIELD]: PLAIN } : { ...target.hidden };
  return html`<section class="confirmation">
${refused && name === undefined && alertBox(t('Nothing was changed. Confirm the change below.'))}${problemSummary(problems, [FIELD])}
<div class="lost">${it.lost}</div>
${form(
  { ...target, hidden },
  html`${it.fields}
${
  name !== undefined &&
  field({
    name: FIELD,
    label: t('Confirmation'),
    hint: t('Type {name} to confirm.', {
      name: html`<strong><bdi class="as-typed">${name}</bdi></strong>`,
    }),
    autocomplete: 'off',
    required: true,
    problem: problemOf(problems, FIELD),
  })
}
<div class="buttons"><button class="danger">${it.submit}</button><a class="secondary" href="${it.back}">${t('Cancel')}</a></div>`,
)}</section>`;
}
