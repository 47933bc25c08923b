import { form } from '@gatehouse/ui/form';
import { type Content, type Html, html } from '@gatehouse/ui/html';
import type { ApiError } from '../api/api-error.ts';
import type { ApiApplication } from '../api/application-types.ts';
import type { Names } from '../api/names.ts';
import type { Person } from '../sessions/session.ts';
import { applicationForm } from './application-form.ts';
import { applicationFacts, applicationView, deleteForm } from './application-pages.ts';
import type { ApplicationValues } from './application-values.ts';
import { formProblem, textField } from './fields.ts';
import { time, userLink } from './parts.ts';
import type { View } from './view.ts';

type Hidden = Readonly<Record<string, string>>;

/** The form that was sent and has to be corrected. */
export type RefusedForm =
  | { of: 'settings'; error: ApiError; values: ApplicationValues; hidden: Hidden }
  | { of: 'trust' | 'transfer'; error: ApiError }
  | { of: 'deletion' };

/** The settings of an application, and what becomes of it as a whole. */
export function settingsPage(it: {
  application: ApiApplication;
  values: ApplicationValues;
  /** The hidden fields of the form of its settings. */
  hidden: Hidden;
  /** Where its forms go. */
  path: string;
  csrf: string;
  person: Person;
  /** The names of people on the page. */
  people: Names;
  notice?: string | undefined;
  refused?: RefusedForm | undefined;
}): View {
  const { application, path, csrf, refused } = it;
  const errorOf = (of: RefusedForm['of']) =>
    refused !== undefined && refused.of === of && 'error' in refused ? refused.error : undefined;
  const filled = refused?.of === 'settings' ? refused : it;
  return applicationView(application, {
    path: '',
    notice: it.notice,
    failed: refused !== undefined,
    body: html`${applicationFacts(application, ownerText(it))}
<section><h2>Settings</h2>${applicationForm({
      action: path,
      csrf,
      type: application.type,
      values: filled.values,
      hidden: filled.hidden,
      error: errorOf('settings'),
      submit: 'Save',
    })}</section>
${application.type === 'machine' && trustSection({ ...it, error: errorOf('trust') })}
${transferForm({ action: `${path}/transfer`, csrf, error: errorOf('transfer') })}
${deleteForm({
  action: `${path}/delete`,
  csrf,
  name: application.name,
  what: 'application',
  consequence: 'Its tokens, secrets and API keys stop working at once. This cannot be undone.',
  wrong: refused?.of === 'deletion',
})}`,
  });
}

/** Who an application belongs to. */
export function ownerText({
  application: { owner },
  person,
  people,
}: {
  application: Pick<ApiApplication, 'owner'>;
  person: Pick<Person, 'id'>;
  people: Names;
}): Content {
  if (owner === null) return 'the operator';
  return owner === person.id ? 'you' : userLink(owner, people);
}

/** Whether a machine acts in its own right: everybody sees it, and admins decide it. */
function trustSection(it: {
  application: ApiApplication;
  path: string;
  csrf: string;
  person: Person;
  people: Names;
  error: ApiError | undefined;
}): Html {
  const { application, person, people, error } = it;
  const { trusted, trusted_by: by, trusted_at: at } = application;
  const grantor = by === null ? 'the operator' : person.role === 'user' ? 'an admin' : userLink(by, people);
  const target = {
    action: `${it.path}/trust`,
    csrf: it.csrf,
    hidden: { trusted: trusted ? 'no' : 'yes' },
  };
  return html`<section class="panel" id="trust"><h2>Trust</h2>
<p>${
    trusted
      ? html`This machine is trusted: it acts in its own right with its scopes, and not under its owner’s role. Granted by ${grantor}, ${time(at, 'when it was set up')}.`
      : 'This machine acts under its owner’s role: it sees and changes what its owner may. A trusted one acts in its own right with its scopes, as a server of your own does.'
  }</p>
${formProblem(error, [])}
${
  person.role === 'admin'
    ? form(
        target,
        trusted
          ? html`<div class="buttons"><button class="danger">End the trust</button></div><p class="hint">Its tokens end at once; new ones are under its owner’s role.</p>`
          : html`<div class="buttons"><button class="secondary">Trust this machine</button></div><p class="hint">Your name and the time are recorded. The trust ends if its owner is deactivated, or loses their present role.</p>`,
      )
    : html`<p class="hint">An admin decides about it.</p>`
}</section>`;
}

/** Handing an application over to somebody else. */
function transferForm(it: { action: string; csrf: string; error: ApiError | undefined }): Html {
  return html`<section class="panel"><h2>Transfer</h2><p>Somebody else becomes its owner, and you no longer see it. Its secrets, API keys and tokens stop working, so that the new owner alone has access: they make new ones.</p>
${formProblem(it.error, ['to'])}
${form(
  { action: it.action, csrf: it.csrf },
  html`${textField({ name: 'to', label: 'New owner', required: true, problems: it.error?.details ?? [], hint: 'Their username, confirmed email address, or user id.' })}
<div class="buttons"><button class="secondary">Transfer</button></div>`,
  { class: 'wide-form' },
)}</section>`;
}
