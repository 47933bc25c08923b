import { form, type PageForm } from '@gatehouse/web/form';
import { type Html, html } from '@gatehouse/web/html';
import type { ApiError } from '../api/api-error.ts';
import type { Fields } from '../http/forms.ts';
import { formProblem } from '../pages/fields.ts';
import { type FormField, formField } from '../pages/form-field.ts';
import type { Visit } from '../routes/dashboard-router.ts';

/** A field of the form of a resource. */
export type ResourceField = FormField & {
  /** What a new form has. */
  initial?: string | ((visit: Visit) => string);
};

/** A field by itself, or several beside each other. */
export type FormRow = ResourceField | readonly ResourceField[];

/** The fields of a form as texts, by their names. */
export type FormValues = Readonly<Record<string, string>>;

const fieldsOf = (rows: readonly FormRow[]): readonly ResourceField[] => rows.flat();

const namesOf = (rows: readonly FormRow[]) => fieldsOf(rows).map(({ name }) => name);

/** What a new form is filled with. */
export function initialValues(rows: readonly FormRow[], visit: Visit): FormValues {
  const entries = fieldsOf(rows).map(({ name, initial = '' }) => [
    name,
    typeof initial === 'string' ? initial : initial(visit),
  ]);
  return Object.fromEntries(entries);
}

/** What was sent; a password with the spaces around it. */
export function sentValues(rows: readonly FormRow[], fields: Fields): FormValues {
  const entries = fieldsOf(rows).map(({ name, type }) => [
    name,
    type === 'password' ? (fields.all(name)[0] ?? '') : fields.text(name),
  ]);
  return Object.fromEntries(entries);
}

/** The fields of a thing as it is. */
export function currentValues(rows: readonly FormRow[], value: object): Record<string, unknown> {
  const all = new Map(Object.entries(value));
  return Object.fromEntries(namesOf(rows).map((name) => [name, all.get(name)]));
}

/** The same as texts. */
export function textsOf(values: Readonly<Record<string, unknown>>): FormValues {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value ?? '')]));
}

/** The fields as the API takes them: numbers where it wants them, and null for what is optional and empty. */
export function requestBody(rows: readonly FormRow[], values: FormValues): Record<string, unknown> {
  const entries = fieldsOf(rows).map(({ name, number, required }) => {
    const text = values[name] ?? '';
    if (number && /^-?\d+(?:\.\d+)?$/.test(text)) return [name, Number(text)];
    return [name, text === '' && !required ? null : text];
  });
  return Object.fromEntries(entries);
}

/** A form with what is wrong with it, in all and at its fields. */
export function resourceForm(it: {
  target: PageForm;
  rows: readonly FormRow[];
  values: FormValues;
  submit: string;
  error: ApiError | undefined;
}): Html {
  const { target, rows, values, submit, error } = it;
  const control = ({ initial: _, ...field }: ResourceField) =>
    formField(field, values[field.name] ?? '', error?.details ?? []);
  return html`${formProblem(error, namesOf(rows))}
${form(
  target,
  html`${rows.map((row) => ('name' in row ? control(row) : html`<div class="pair">${row.map(control)}</div>`))}
<div class="buttons"><button class="primary">${submit}</button></div>`,
  { class: 'wide-form' },
)}`;
}
