import type { FieldProblem } from '@gatehouse/core/errors';
import { type Content, type Html, html } from './html.ts';
import { t, translated } from './language.ts';

/** Where a form goes, its CSRF token, and further hidden fields by name, such as the token of a mailed link. */
export type PageForm = {
  action: string;
  csrf: string;
  hidden?: Readonly<Record<string, string>>;
};

/** The properties of every labelled control. Its id is `name`; `problem` is the sentence that says what is wrong with the value. */
export type Labelled = {
  autofocus?: boolean;
  name: string;
  label: string;
  hint?: Content;
  problem?: string | undefined;
  required?: boolean;
  /** Whether other fields decide if it is required: then it is neither marked as optional nor checked by the browser. */
  conditional?: boolean | undefined;
  /** The id of a message about several fields. */
  describedBy?: string | undefined;
  /** Whether the value is wrong although there is no message of its own. */
  invalid?: boolean;
};

/** One labelled input. */
export type Field = Labelled & {
  type?: 'text' | 'email' | 'password' | 'tel' | 'url' | 'date';
  value?: string | undefined;
  autocomplete: string;
  inputmode?: string | undefined;
  minlength?: number;
  maxlength?: number | undefined;
  suggestions?: Suggestions | undefined;
};

/** Values that a browser proposes for a text, each with what it is called, where that differs. */
export type Suggestions = readonly (readonly [value: string, about?: string | undefined])[];

/** The subject of a sentence about a field of an account. */
const SUBJECTS: Record<string, string> = {
  username: 'The username',
  email: 'The email address',
  password: 'The password',
  current_password: 'The current password',
  new_password: 'The new password',
  name: 'The name',
  first_name: 'The first name',
  last_name: 'The last name',
  phone: 'The phone number',
  locale: 'The language',
  zoneinfo: 'The time zone',
};
const INPUT_MODE: Record<string, string> = { email: 'email', tel: 'tel', url: 'url' };

/** A form that posts, with its hidden fields. `id` is for buttons outside it. */
export function form(
  target: PageForm,
  content: Content,
  options: { id?: string; class?: string; enctype?: 'multipart/form-data' } = {},
): Html {
  return html`<form method="post" action="${target.action}"${options.id !== undefined && html` id="${options.id}"`}${options.class !== undefined && html` class="${options.class}"`}${options.enctype !== undefined && html` enctype="${options.enctype}"`}>
<input type="hidden" name="csrf" value="${target.csrf}">
${Object.entries(target.hidden ?? {}).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${content}
</form>`;
}

/** A control with its label, its hint and what is wrong with its value; it has the attributes that say so. */
export function labelled(it: Labelled, control: (attributes: Content) => Html): Html {
  const { name, hint, problem } = it;
  const described = [
    problem !== undefined && `${name}-problem`,
    it.describedBy,
    hint !== undefined && `${name}-hint`,
  ].filter((id) => typeof id === 'string');
  return html`<div class="field">
<label for="${name}">${it.label}${!it.required && !it.conditional && html` <span class="optional">${t('(optional)')}</span>`}</label>
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
${problem !== undefined && html`<p class="field-problem" id="${name}-problem">${problem}</p>`}
${control([
  it.autofocus && html` autofocus`,
  it.required && html` required`,
  (problem !== undefined || it.invalid) && html` aria-invalid="true"`,
  described.length > 0 && html` aria-describedby="${described.join(' ')}"`,
])}
</div>`;
}

/** A labelled line of text. */
export function field(it: Field): Html {
  const { type = 'text', minlength, maxlength } = it;
  const mode = it.inputmode ?? INPUT_MODE[type];
  const name = /^(?:username|name|first_name|last_name)$/.test(it.name) && it.name;
  const own = [
    mode !== undefined && html` inputmode="${mode}"`,
    type === 'password'
      ? html` data-show="${t('Show password')}" data-hide="${t('Hide password')}"`
      : html` value="${it.value ?? ''}"`,
    // Names are not in dictionaries, and phones must not capitalise usernames.
    name && html` spellcheck="false"`,
    (name === 'username' || type === 'email' || type === 'url') && html` autocapitalize="none"`,
    type === 'text' && html` dir="auto"`,
    minlength !== undefined && html` minlength="${minlength}"`,
    maxlength !== undefined && html` maxlength="${maxlength}"`,
    it.suggestions && html` list="${it.name}-suggestions"`,
  ];
  return labelled(
    it,
    (attributes) =>
      html`<input id="${it.name}" name="${it.name}" type="${type}" autocomplete="${it.autocomplete}"${own}${attributes}>${it.suggestions && datalist(`${it.name}-suggestions`, it.suggestions)}`,
  );
}

/** The suggestions of an input whose `list` is this id. */
export function datalist(id: string, suggestions: Suggestions): Html {
  return html`<datalist id="${id}">${suggestions.map(([value, about]) => html`<option value="${value}"${about !== undefined && html` label="${about}"`}></option>`)}</datalist>`;
}

/** The id of the message of `alertBox`, for aria-describedby. */
export const ALERT_ID = 'problem';

/** An error, announced by screen readers at once. */
export function alertBox(title: string, content?: Content): Html {
  return html`<div class="alert" role="alert" id="${ALERT_ID}"><p class="alert-title">${title}</p>${content}</div>`;
}

/** The problems of a form, each linked to its field if that is one of `fields`, those on the page. */
export function problemSummary(problems: readonly FieldProblem[], fields: readonly string[]): Html | false {
  if (problems.length === 0) return false;
  const items = problems.map((problem) => {
    const sentence = sentenceOf(problem);
    return fields.includes(problem.field)
      ? html`<li><a href="#${problem.field}">${sentence}</a></li>`
      : html`<li>${sentence}</li>`;
  });
  return alertBox(t('Please check your entries'), html`<ul>${items}</ul>`);
}

/** The sentence about a field, if there is one. */
export function problemOf(problems: readonly FieldProblem[], name: string): string | undefined {
  const problem = problems.find(({ field: it }) => it === name);
  return problem && sentenceOf(problem);
}

/** A message about a field is a whole sentence, such as "Enter a name.", or the end of one, such as "must have 8 characters". */
function sentenceOf({ field: name, message }: FieldProblem): string {
  const subject = SUBJECTS[name];
  const isWhole = /^\p{Lu}.*\.$/su.test(message);
  return translated(subject === undefined || isWhole ? message : `${subject} ${message}.`);
}

/** A message that a change was made, for the page that follows a form. */
export function notice(sentence: string | undefined): Html | false {
  return sentence !== undefined && html`<p class="notice" role="status">${sentence}</p>`;
}

/** The account of a password field, for password managers; invisible to people. */
export function usernameForPasswordManagers(username: string): Html {
  return html`<input type="text" autocomplete="username" value="${username}" hidden readonly>`;
}
