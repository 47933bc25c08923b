import type { FieldProblem } from '@gatehouse/core/errors';
import { alertBox, problemOf, problemSummary } from '@gatehouse/web/form';
import { type Content, type Html, html } from '@gatehouse/web/html';
import { ApiError } from '../api/api-error.ts';

type Common = {
  name: string;
  label: string;
  hint?: Content;
  problems?: readonly FieldProblem[];
  required?: boolean;
};

/** What can be chosen: values, each with a text where the text is another. */
export type Options = readonly (string | readonly [value: string, text: string])[];

/** What the values of a field are called one by one. */
const ENTRIES: Record<string, string> = {
  redirect_uris: 'Redirect URI',
  post_logout_redirect_uris: 'Post-logout redirect URI',
};

/** The problem of a field, or those of the values in it, such as redirect_uris.1. */
function problemAt(problems: readonly FieldProblem[], name: string): string | undefined {
  const own = problemOf(problems, name);
  if (own !== undefined) return own;
  const inner = problems.filter(({ field }) => field.startsWith(`${name}.`));
  if (inner.length === 0) return undefined;
  return inner.map((problem) => entryProblem(problem, name)).join(' ');
}

function entryProblem({ field, message }: FieldProblem, name: string): string {
  const at = Number(field.slice(name.length + 1));
  const which = Number.isInteger(at) ? `${ENTRIES[name] ?? 'Line'} ${at + 1}` : field.slice(name.length + 1);
  return `${which} ${message}.`;
}

/** A labelled control with its hint and its problem. */
function labelled(it: Common, control: (attributes: Content) => Html): Html {
  const { name, label, hint, problems = [], required } = it;
  const problem = problemAt(problems, name);
  const described = [problem !== undefined && `${name}-problem`, hint !== undefined && `${name}-hint`]
    .filter((id) => id !== false)
    .join(' ');
  return html`<div class="field"><label for="${name}">${label}${!required && html` <span class="optional">(optional)</span>`}</label>
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
${problem !== undefined && html`<p class="field-problem" id="${name}-problem">${problem}</p>`}
${control([
  problem !== undefined && html` aria-invalid="true"`,
  described !== '' && html` aria-describedby="${described}"`,
  required && html` required`,
])}</div>`;
}

export function textField(
  it: Common & {
    value?: string;
    type?: string;
    inputmode?: string;
    maxlength?: number;
    autocomplete?: string;
  },
): Html {
  const { name, value = '', type = 'text', inputmode, maxlength, autocomplete = 'off' } = it;
  return labelled(
    it,
    (attributes) =>
      html`<input id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="${autocomplete}"${type === 'text' && html` dir="auto"`}${inputmode !== undefined && html` inputmode="${inputmode}"`}${maxlength !== undefined && html` maxlength="${maxlength}"`}${attributes}>`,
  );
}

export function textArea(it: Common & { value?: string; rows?: number; prose?: boolean }): Html {
  const { name, value = '', rows = 4, prose } = it;
  // The first line break after the tag is dropped by browsers.
  return labelled(
    it,
    (attributes) =>
      html`<textarea id="${name}" name="${name}" rows="${rows}" autocomplete="off" autocapitalize="none" spellcheck="false" dir="auto"${prose && html` class="prose"`}${attributes}>
${value}</textarea>`,
  );
}

export function selectField(it: Common & { value?: string; options: Options }): Html {
  const { name, value, options } = it;
  return labelled(
    it,
    (attributes) =>
      html`<select id="${name}" name="${name}"${attributes}>${optionTags(options, value)}</select>`,
  );
}

/** The options of a choice, of which one may be chosen. */
export function optionTags(options: Options, chosen?: string): Html[] {
  return options.map((option) => {
    const [value, text] = typeof option === 'string' ? [option, option] : option;
    return html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`;
  });
}

/** Boxes of which at least one is to be ticked, with what is wrong with the choice. */
export function choices(it: Common, boxes: Content): Html {
  const { name, label, hint, problems = [] } = it;
  const problem = problemAt(problems, name);
  return html`<fieldset id="${name}"${problem !== undefined && html` aria-describedby="${name}-problem"`}><legend>${label}</legend>
${hint !== undefined && html`<p class="hint">${hint}</p>`}
${problem !== undefined && html`<p class="field-problem" id="${name}-problem">${problem}</p>`}
<div class="checks">${boxes}</div></fieldset>`;
}

/** A box to tick; several may share a name, and one that does not has its name as its id. */
export function checkbox(it: {
  name: string;
  value: string;
  label: Content;
  hint?: Content;
  checked: boolean;
  type?: 'checkbox' | 'radio';
  /** For a box that is alone with its name. */
  problems?: readonly FieldProblem[];
}): Html {
  const { name, value, label, hint, checked, type = 'checkbox', problems } = it;
  const id = problems === undefined ? `${name}-${value || 'none'}` : name;
  const problem = problemAt(problems ?? [], name);
  const described = [problem !== undefined && `${id}-problem`, hint !== undefined && `${id}-hint`]
    .filter((part) => part !== false)
    .join(' ');
  return html`<div class="check"><input type="${type}" id="${id}" name="${name}" value="${value}"${checked && html` checked`}${problem !== undefined && html` aria-invalid="true"`}${described !== '' && html` aria-describedby="${described}"`}><label for="${id}">${label}</label>${problem !== undefined && html`<p class="field-problem" id="${id}-problem">${problem}</p>`}${hint !== undefined && html`<p class="hint" id="${id}-hint">${hint}</p>`}</div>`;
}

/** What is wrong with a form as a whole: the problems of its fields, or the sentence of the error. */
export function formProblem(error: ApiError | undefined, fields: readonly string[]): Html | false {
  if (error === undefined) return false;
  const known = error.details.map((problem) => {
    const [name = ''] = problem.field.split('.', 1);
    return problem.field !== name && fields.includes(name)
      ? { field: name, message: problemAt([problem], name) ?? problem.message }
      : problem;
  });
  return known.length > 0 ? problemSummary(known, fields) : alertBox(error.message);
}

const REFUSALS = [400, 409, 412, 413, 422, 429];

/** The error of a form that can be sent again, corrected or later; anything else is thrown again. */
export function errorOf(thrown: unknown): ApiError {
  const isClientError =
    thrown instanceof ApiError && (REFUSALS.includes(thrown.status) || thrown.isUnavailable);
  if (isClientError) return thrown;
  throw thrown;
}
