import type { FieldProblem } from '@gatehouse/core/errors';
import type { Content, Html } from '@gatehouse/web/html';
import { checkbox, type Options, selectField, textArea, textField } from './fields.ts';

/** A field of a form: a choice, a text of several lines, a box to tick, or else one line. */
export type FormField = {
  name: string;
  label: string;
  hint?: Content;
  required?: boolean;
  type?: 'text' | 'email' | 'password' | 'url';
  /** What the API takes as a number. */
  number?: 'integer' | 'decimal';
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

/** The control of a field, with what is wrong with its value. */
export function formField(field: FormField, value: string, problems: readonly FieldProblem[]): Html {
  const { options, rows, number, ticked, ...common } = field;
  if (options !== undefined) return selectField({ ...common, options, value, problems });
  if (rows !== undefined) return textArea({ ...common, rows, value, problems });
  if (ticked !== undefined) {
    const { name, label, hint } = common;
    return checkbox({ name, label, hint, value: ticked, checked: value === ticked, problems });
  }
  // What was typed as a password is not sent back.
  const shown = field.type === 'password' ? '' : value;
  const inputmode = number === 'integer' ? 'numeric' : number;
  return textField({ ...common, ...(inputmode && { inputmode }), value: shown, problems });
}
