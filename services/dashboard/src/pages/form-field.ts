import type { FieldProblem } from '@gatehouse/core/errors';
import { type Content, type Html, html } from '@gatehouse/web/html';
import { checkbox, choices, type Options, selectField, textArea, textField } from './fields.ts';

/** A field of a form: a choice, boxes to tick, a text of several lines, or else one line. */
export type FormField = {
  name: string;
  label: string;
  hint?: Content;
  required?: boolean;
  type?: 'text' | 'email' | 'password' | 'url' | 'date';
  /** What the API takes, where it is no text; `several` of the options, each with a hint in place of a text. */
  kind?: 'integer' | 'decimal' | 'lines' | 'flag' | 'several' | 'json';
  maxlength?: number;
  autocomplete?: string;
  /** The height of a text of several lines. */
  rows?: number;
  /** Whether the lines are sentences. */
  prose?: boolean;
  options?: Options;
  /** The value of a box that is ticked. */
  ticked?: string;
};

/** The value of a box for what is true or false. */
export const YES = 'yes';

/** The control of a field, with what is wrong with its value; of several options, spaces are between those chosen. */
export function formField(field: FormField, value: string, problems: readonly FieldProblem[]): Html {
  const { options, rows, kind, ticked = kind === 'flag' ? YES : undefined, ...common } = field;
  const { name, label, hint } = common;
  if (options !== undefined && kind === 'several') {
    const chosen = value.split(' ');
    const boxes = options.map((option) => {
      const [it, about] = typeof option === 'string' ? [option] : option;
      const checked = chosen.includes(it);
      return checkbox({ name, value: it, checked, label: html`<code>${it}</code>`, hint: about });
    });
    return choices({ name, label, hint, problems }, boxes);
  }
  if (options !== undefined) return selectField({ ...common, options, value, problems });
  if (rows !== undefined) return textArea({ ...common, rows, value, problems });
  if (ticked !== undefined) {
    return checkbox({ name, label, hint, value: ticked, checked: value === ticked, problems });
  }
  // What was typed as a password is not sent back.
  const shown = field.type === 'password' ? '' : value;
  const inputmode = kind === 'integer' ? 'numeric' : kind === 'decimal' ? kind : undefined;
  return textField({ ...common, ...(inputmode && { inputmode }), value: shown, problems });
}
