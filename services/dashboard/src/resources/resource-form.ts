import type { FieldProblem } from '@gatehouse/core/errors';
import {
  type Fields as EntityFields,
  type InputFieldOf,
  inputsOf,
  inSnakeCase,
} from '@gatehouse/domain/fields';
import { form, type PageForm } from '@gatehouse/web/form';
import { type Content, type Html, html } from '@gatehouse/web/html';
import { ApiError } from '../api/api-error.ts';
import type { Fields } from '../http/forms.ts';
import { sentColour, sentPicture } from '../pages/brand-controls.ts';
import { type FormField, formField, formProblem, otherName, YES } from '../pages/fields.ts';
import type { Visit } from '../routes/visit.ts';

/** A field of the form of a resource. */
export type ResourceField = FormField & {
  /** The value in a new form. */
  initial?: string | ((visit: Visit) => string);
  /** The type that a text in JSON must have, for the error message. */
  json?: string;
};

/** Rows that belong together: under a legend, or folded until one of them was changed or is wrong. */
type FormGroup = { fields: readonly FormRow[]; legend?: string; folded?: string };

/** A field by itself, several beside each other, or a group. */
export type FormRow = ResourceField | readonly ResourceField[] | FormGroup;

/** The fields of a form as texts, by their names. */
export type FormValues = Readonly<Record<string, string>>;

/** The fields that callers set of an entity, as those of a form. `more` is what only the form says of them. */
export function inputFields<F extends EntityFields>(
  entity: F,
  more: { readonly [K in InputFieldOf<F>]?: Partial<ResourceField> },
): Record<InputFieldOf<F>, ResourceField> {
  const fields = inputsOf(entity).map(({ name, definition, input }): [string, ResourceField] => {
    const { label, max, initial } = input;
    const isNumber = definition.type === 'number';
    const field: ResourceField = {
      name: inSnakeCase(name),
      label,
      required: initial !== null,
      ...(isNumber && { kind: max === undefined ? 'decimal' : 'integer' }),
      ...(!isNumber && max !== undefined && { maxlength: max }),
      ...(definition.values && { options: definition.values }),
      ...(initial !== null && initial !== undefined && { initial: String(initial) }),
      ...more[name],
    };
    return [name, field];
  });
  return Object.fromEntries(fields) as Record<InputFieldOf<F>, ResourceField>;
}

/** All fields of a form. */
export function fieldsOf(rows: readonly FormRow[]): readonly ResourceField[] {
  return rows.flatMap((row) => ('fields' in row ? fieldsOf(row.fields) : row));
}

/** A value for each field, by its name. */
function valuesBy<V>(rows: readonly FormRow[], value: (field: ResourceField) => V): Record<string, V> {
  return Object.fromEntries(fieldsOf(rows).map((field) => [field.name, value(field)]));
}

/** The values of a new form. */
export function initialValues(rows: readonly FormRow[], visit: Visit): FormValues {
  return valuesBy(rows, ({ initial = '' }) => (typeof initial === 'string' ? initial : initial(visit)));
}

/** The values that were sent; a password keeps the spaces around it. */
export function sentValues(rows: readonly FormRow[], fields: Fields): FormValues {
  return valuesBy(rows, ({ name, type, kind }) => {
    if (kind === 'several')
      return textOf(kind, [...new Set([...fields.all(name), ...otherValues(fields, name)])]);
    if (kind === 'colour') return sentColour(fields, name);
    if (kind === 'picture') return sentPicture(fields, name);
    return type === 'password' ? (fields.all(name)[0] ?? '') : fields.text(name);
  });
}

/** The values of a choice that were entered beside its boxes. */
function otherValues(fields: Fields, name: string): string[] {
  return fields.all(otherName(name)).flatMap((text) => text.split(/[\s,]+/).filter(Boolean));
}

/** The fields of a thing as it is. */
export function currentValues(rows: readonly FormRow[], thing: object): FormValues {
  const all = new Map<string, unknown>(Object.entries(thing));
  return valuesBy(rows, ({ name, kind }) => textOf(kind, all.get(name)));
}

/** Fields that keep their group folded as long as they are as they are in a thing. */
export function unchanged(fields: readonly ResourceField[], thing: object): ResourceField[] {
  const values = currentValues(fields, thing);
  return fields.map((field) => ({ ...field, initial: values[field.name] ?? '' }));
}

function textOf(kind: FormField['kind'], value: unknown): string {
  if (value === null || value === undefined) return '';
  if (kind === 'lines') return (value as string[]).join('\n');
  // They have no order.
  if (kind === 'several') return (value as string[]).toSorted().join(' ');
  if (kind === 'json') return JSON.stringify(value, null, 2);
  if (kind === 'flag') return value === true ? YES : '';
  return String(value);
}

/** The fields as the API takes them, and null for what is optional and empty. Throws ApiError for a text that is no JSON. */
export function requestBody(rows: readonly FormRow[], values: FormValues): Record<string, unknown> {
  return valuesBy(rows, (field) => apiValueOf(field, values[field.name] ?? ''));
}

function apiValueOf(field: ResourceField, text: string): unknown {
  const { kind, required, options, initial } = field;
  if (kind === 'flag') return text !== '';
  if (kind === 'lines' || kind === 'several') {
    const entries = text.split(kind === 'lines' ? '\n' : ' ').map((entry) => entry.trim());
    return entries.filter((entry) => entry !== '');
  }
  // A choice that was not sent is that of a new form.
  if (text === '' && options !== undefined && typeof initial === 'string') return initial;
  if (text === '' && !required) return null;
  if (kind === 'json') return objectOf(field, text);
  return kind !== undefined && /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
}

function objectOf({ name, label, json = 'an object' }: ResourceField, text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // As below.
  }
  const details = [{ field: name, message: `must be ${json}` }];
  throw new ApiError(400, `${label}: this is not ${json}.`, { details });
}

/** The controls of a form, with what is wrong with their values. */
export function formRows(
  rows: readonly FormRow[],
  values: FormValues,
  problems: readonly FieldProblem[] = [],
): Content {
  return rows.map((row) => {
    if ('name' in row) return formField(row, values[row.name] ?? '', problems);
    if (!('fields' in row)) return html`<div class="pair">${formRows(row, values, problems)}</div>`;
    const { fields, legend, folded } = row;
    const content = formRows(fields, values, problems);
    if (folded === undefined) return html`<fieldset><legend>${legend}</legend>${content}</fieldset>`;
    const isOpen = fieldsOf(fields).some(
      ({ name, initial = '' }) => values[name] !== initial || problems.some(({ field }) => field === name),
    );
    return html`<details class="panel advanced"${isOpen && html` open`}><summary>${folded}</summary>
${content}</details>`;
  });
}

/** A form with what is wrong with it, in all and at its fields. */
export function resourceForm(it: {
  target: PageForm;
  rows: readonly FormRow[];
  values: FormValues;
  submit: string;
  error: ApiError | undefined;
  /** Whether the fields are beside each other. */
  inline?: boolean;
  takesFiles?: boolean;
}): Html {
  const { target, rows, values, submit, error, inline, takesFiles } = it;
  return html`${formProblem(error, fieldsOf(rows))}
${form(
  target,
  html`${formRows(rows, values, error?.details)}
<div class="buttons"><button class="primary">${submit}</button></div>`,
  { class: inline ? 'inline-form' : 'wide-form', ...(takesFiles && { enctype: 'multipart/form-data' }) },
)}`;
}
