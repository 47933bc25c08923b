import type { FieldProblem } from '@gatehouse/core/errors';
import { alertBox, field, labelled, problemSummary, type Suggestions } from '@gatehouse/web/form';
import { type Content, type Html, html } from '@gatehouse/web/html';
import { ApiError } from '../api/api-error.ts';
import { colourField, pictureField } from './brand-controls.ts';
import { capital } from './parts.ts';

/** The options: values, each with a text where it differs, the title of the group that it belongs to, and why it cannot be chosen, if so. */
export type Options = readonly (
  | string
  | readonly [value: string, text: string, group?: string | undefined, unavailable?: string]
)[];

/** A choice of more options than this has a field that filters them. */
const MANY_OPTIONS = 12;
/** More options than this are suggestions of a text, where others may be entered, too. */
export const MAX_CHOICE = 50;

/** A field of a form: a choice, boxes to tick, a text of several lines, or else one line. */
export type FormField = {
  name: string;
  label: string;
  /** The subject of a sentence about it, where that is not its label. */
  subject?: string;
  /** The name of one of its lines. */
  line?: string;
  hint?: Content;
  required?: boolean;
  /** Whether other fields decide if it is required. */
  conditional?: boolean;
  type?: 'text' | 'email' | 'password' | 'url' | 'date';
  /** The type in the API, where it is no text; `several` of the options, each with a hint in place of a text, unless they are `named`. */
  kind?: 'integer' | 'decimal' | 'lines' | 'flag' | 'several' | 'json' | 'colour' | 'picture';
  maxlength?: number;
  autocomplete?: string;
  /** The height of a text of several lines. */
  rows?: number;
  /** Whether the lines are sentences. */
  prose?: boolean;
  options?: Options;
  /** Other words by which the filter of several options finds them, by their values. */
  words?: Readonly<Record<string, string>>;
  /** Whether the texts of several options are their labels. */
  named?: boolean;
  /** Of several: the field for values that are not among the options. */
  other?: { label: string; hint: string };
  suggestions?: Suggestions;
  /** The value of a box that is ticked. */
  ticked?: string;
};

/** The value of a box for what is true or false. */
export const YES = 'yes';

/** A whole sentence about a field, such as "Enter a name.", of which the API may give the end, such as "must be a number". */
function sentence({ label, subject }: FormField, message: string): string {
  if (/^\p{Lu}.*\.$/su.test(message)) return message;
  const isWord = /^\p{Lu}\p{Ll}/u.test(label);
  return `${subject ?? `The ${isWord ? label.charAt(0).toLowerCase() + label.slice(1) : label}`} ${message}.`;
}

/** The problem of a field, or those of the values in it, such as redirect_uris.1. */
function problemOf(problems: readonly FieldProblem[], it: FormField): string | undefined {
  const own = problems.find(({ field: name }) => name === it.name);
  if (own !== undefined) return sentence(it, own.message);
  const inner = problems.filter(({ field: name }) => name.startsWith(`${it.name}.`));
  if (inner.length === 0) return undefined;
  return inner
    .map(({ field: name, message }) => {
      const place = name.slice(it.name.length + 1);
      const [, at, part] = /^(\d+)(?:\.(.+))?$/.exec(place) ?? [];
      if (at === undefined) return `${place} ${message}.`;
      return `${it.line ?? 'Line'} ${Number(at) + 1}${part === undefined ? '' : `: ${part}`} ${message}.`;
    })
    .join(' ');
}

/** The control of a field, with what is wrong with its value; of several options, spaces are between those chosen. */
export function formField(it: FormField, value: string, problems: readonly FieldProblem[] = []): Html {
  const { name, label, hint, options, rows, kind, type = 'text' } = it;
  const { ticked = kind === 'flag' ? YES : undefined, autocomplete = 'off' } = it;
  const problem = problemOf(problems, it);
  const autofocus = problem !== undefined && problems.length === 1;
  const { required = false, conditional } = it;
  const common = { name, label, hint, problem, autofocus, required, conditional };
  if (kind === 'colour') return colourField(common, value);
  if (kind === 'picture') return pictureField(common, value);
  if (options !== undefined && kind === 'several')
    return choices(it, value.split(' ').filter(Boolean), problem);
  if (options !== undefined) {
    return labelled(
      common,
      (attributes) =>
        html`<select id="${name}" name="${name}"${attributes}>${optionTags(options, value)}</select>`,
    );
  }
  if (rows !== undefined) {
    // The first line break after the tag is dropped by browsers.
    return labelled(
      common,
      (attributes) =>
        html`<textarea id="${name}" name="${name}" rows="${rows}" autocomplete="off" autocapitalize="none" spellcheck="false" dir="auto"${it.prose && html` class="prose"`}${attributes}>
${value}</textarea>`,
    );
  }
  if (ticked !== undefined) {
    return checkbox({
      id: name,
      name,
      label,
      hint,
      value: ticked,
      checked: value === ticked,
      problem,
      autofocus,
    });
  }
  const inputmode = kind === 'integer' ? 'numeric' : kind === 'decimal' ? kind : undefined;
  return field({
    ...common,
    type,
    value,
    autocomplete,
    inputmode,
    maxlength: it.maxlength,
    suggestions: it.suggestions,
  });
}

/** The options of a choice, of which one may be chosen. */
export function optionTags(options: Options, chosen?: string): Html[] {
  return options.map((option) => {
    const [value, text] = typeof option === 'string' ? [option, option] : option;
    return html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`;
  });
}

/** Checkboxes in groups, each folded until one of it is chosen, with the problem of the choice, and a field for other values. */
function choices(
  { name, label, hint, options = [], words = {}, line = 'Entry', named = false, other }: FormField,
  chosen: readonly string[],
  problem: string | undefined,
): Html {
  const known = options.map((option) => (typeof option === 'string' ? ([option] as const) : option));
  const areSuggested = other !== undefined && known.length > MAX_CHOICE;
  const offered = areSuggested ? known.filter(([value]) => chosen.includes(value)) : known;
  const others = chosen.filter((it) => !offered.some(([value]) => value === it)).map((it) => [it] as const);
  const all: (readonly [value: string, about?: string, group?: string | undefined, unavailable?: string])[] =
    [...offered, ...others];
  const boxes = (some: typeof all) =>
    html`<div class="checks">${some.map(([value, about, , unavailable]) => {
      const checked = chosen.includes(value);
      const isNamed = named && about !== undefined;
      const text = unavailable || about;
      // A ticked box stays enabled, so that it can be unticked, and is sent again.
      const disabled = Boolean(unavailable) && !checked;
      const label = isNamed ? html`<bdi>${about}</bdi>` : html`<code>${value}</code>`;
      const hint = isNamed ? html`<code>${value}</code>` : text;
      return checkbox({ name, value, checked, disabled, label, hint, words: words[value] });
    })}</div>`;
  const groups = Map.groupBy(all, ([, , group]) => group);
  const ungrouped = groups.get(undefined);
  groups.delete(undefined);
  const groupOf = (title: string | undefined, some: typeof all) => {
    const ticked = some.filter(([value]) => chosen.includes(value)).length;
    return html`<details class="panel group"${ticked > 0 && html` open`}><summary>${title}${ticked > 0 && ` (${ticked} chosen)`}</summary>${boxes(some)}</details>`;
  };
  return html`<fieldset id="${name}"${problem !== undefined && html` aria-describedby="${name}-problem"`}><legend>${label}</legend>
${hint !== undefined && html`<p class="hint">${hint}</p>`}
${problem !== undefined && html`<p class="field-problem" id="${name}-problem">${problem}</p>`}
${all.length > MANY_OPTIONS && html`<div class="field narrow" data-filter hidden><label for="${name}-filter">Filter</label><input id="${name}-filter" type="search" autocomplete="off" autocapitalize="none" spellcheck="false"><p class="hint" role="status" data-none hidden>No ${line.toLowerCase()} matches.</p></div>`}
${ungrouped && boxes(ungrouped)}
${groups.size > 0 && html`<div class="groups">${[...groups].map(([group, some]) => groupOf(group, some))}</div>`}
${other && otherValue(name, other, areSuggested ? known.map(([value, about]) => [value, about]) : undefined)}</fieldset>`;
}

/** The name of the field for values of a choice that are not among its options. */
export const otherName = (name: string) => `${name}.other`;

function otherValue(
  choice: string,
  { label, hint }: NonNullable<FormField['other']>,
  suggestions: Suggestions | undefined,
): Html {
  const name = otherName(choice);
  return html`${field({ name, label, hint, value: '', autocomplete: 'off', suggestions })}
<p data-another="${name}" hidden><button type="button" class="secondary">Add another</button></p>`;
}

/** A box to tick; several may share a name. */
export function checkbox(it: {
  name: string;
  value: string;
  /** By default of the name and the value. */
  id?: string;
  label: Content;
  hint?: Content;
  checked: boolean;
  disabled?: boolean;
  type?: 'checkbox' | 'radio';
  problem?: string | undefined;
  autofocus?: boolean;
  /** Other words by which a filter finds it. */
  words?: string | undefined;
}): Html {
  const { name, value, label, hint, checked, disabled, type = 'checkbox', problem, autofocus, words } = it;
  const { id = `${name}-${value || 'none'}` } = it;
  const described = [problem !== undefined && `${id}-problem`, hint !== undefined && `${id}-hint`]
    .filter((part) => part !== false)
    .join(' ');
  return html`<div class="check"${words !== undefined && html` data-words="${words}"`}><input type="${type}" id="${id}" name="${name}" value="${value}"${checked && html` checked`}${disabled && html` disabled`}${autofocus && html` autofocus`}${problem !== undefined && html` aria-invalid="true"`}${described !== '' && html` aria-describedby="${described}"`}><label for="${id}">${label}</label>${problem !== undefined && html`<p class="field-problem" id="${id}-problem">${problem}</p>`}${hint !== undefined && html`<p class="hint" id="${id}-hint">${hint}</p>`}</div>`;
}

/** Whole sentences about fields, each with the name of the one in the form that it is about. */
export function fieldSentences(
  problems: readonly FieldProblem[],
  fields: readonly FormField[],
): readonly FieldProblem[] {
  return problems.map((problem) => {
    const own = fields.find(({ name }) => problem.field === name || problem.field.startsWith(`${name}.`));
    if (own !== undefined) return { field: own.name, message: problemOf([problem], own) ?? '' };
    const { field: name, message } = problem;
    const label = capital(name.replaceAll('_', ' '));
    return { field: name, message: sentence({ name, label }, message) };
  });
}

/** The error of a form as a whole: links to the problems of its fields, or the message. A single problem is at its field, which has the focus. */
export function formProblem(error: ApiError | undefined, fields: readonly FormField[] = []): Html | false {
  if (error === undefined) return false;
  const problems = fieldSentences(error.details, fields);
  const names = fields.map(({ name }) => name);
  const single = problems.length === 1 ? fields.find(({ name }) => name === problems[0]?.field) : undefined;
  if (single !== undefined && single.kind !== 'several') return false;
  return problems.length > 0 ? problemSummary(problems, names) : alertBox(error.message);
}

const FORM_ERROR_STATUSES = [400, 409, 412, 413, 422, 429];

/** The error of a form that can be sent again, corrected or later; anything else is thrown again. */
export function errorOf(thrown: unknown): ApiError {
  const isClientError =
    thrown instanceof ApiError && (FORM_ERROR_STATUSES.includes(thrown.status) || thrown.isUnavailable);
  if (isClientError) return thrown;
  throw thrown;
}
