import { form } from '@gatehouse/web/form';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { ApiError } from '../../api/api-error.ts';
import type { ApiApplication } from '../../api/application-types.ts';
import type { Names } from '../../api/names.ts';
import { time, userLink } from '../../pages/parts.ts';
import type { View } from '../../pages/view.ts';
import { deletionSection } from '../../resources/deletion.ts';
import type { Person } from '../../sessions/session.ts';
import { applicationForm } from './application-form.ts';
import { applicationFacts, applicationView } from './application-pages.ts';
import type { ApplicationValues } from './application-values.ts';
import type { ApiTransfer } from './transfers.ts';

type Hidden = Readonly<Record<string, string>>;

/** The form that was sent and has to be corrected. */
export type RefusedSettings = { error: ApiError; values: ApplicationValues; hidden: Hidden };

export const LOST_WITH_APPLICATION = 'Its tokens, client secrets and API keys stop working at once.';

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
  /** The offer that waits for a response. */
  transfer?: ApiTransfer | undefined;
  notice?: string | undefined;
  refused?: RefusedSettings | undefined;
}): View {
  const { application, path, csrf, refused } = it;
  const filled = refused ?? it;
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
      error: refused?.error,
      submit: 'Save',
    })}</section>
${application.type === 'machine' && trustSection(it)}
${transferSection(it)}
${deletionSection({ path, noun: 'application', lost: LOST_WITH_APPLICATION })}`,
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

/** Offering the application to another person, or the offer that waits. */
function transferSection(it: {
  path: string;
  csrf: string;
  transfer?: ApiTransfer | undefined;
  people: Names;
}): Html {
  const { path, csrf, transfer, people } = it;
  return html`<section class="panel"><h2>Transfer</h2>${
    transfer === undefined
      ? html`<p>Another person becomes the owner, and you lose access.</p>
<p><a class="button secondary" href="${path}/transfer">Transfer application</a></p>`
      : html`<p>This application is offered to ${userLink(transfer.to, people)} until ${time(transfer.expires_at)}. It stays yours until they accept.</p>
${form({ action: `${path}/transfer/cancel`, csrf }, html`<div class="buttons"><button class="secondary">Cancel offer</button></div>`)}`
  }</section>`;
}

/** Whether a machine acts in its own right: everybody sees it, and admins decide it. */
function trustSection(it: {
  application: ApiApplication;
  path: string;
  person: Person;
  people: Names;
}): Html {
  const { application, person, people } = it;
  const { trusted, trusted_by: by, trusted_at: at } = application;
  const grantor = by === null ? 'the operator' : person.role === 'user' ? 'an admin' : userLink(by, people);
  return html`<section class="panel" id="trust"><h2>Trust</h2>
<p>${
    trusted
      ? html`This application is trusted: it acts with its own scopes, and not with its owner’s role. Trust was granted by ${grantor}, ${time(at, 'when it was set up')}.`
      : 'This application acts with its owner’s role: it can read and change only the data that its owner can. A trusted application acts with its own scopes instead, like a server that you run yourself.'
  }</p>
${
  person.role === 'admin'
    ? html`<p><a class="button ${trusted ? 'danger' : 'secondary'}" href="${it.path}/trust">${trusted ? 'End trust' : 'Trust application'}</a></p>`
    : html`<p class="hint">Only an admin can change the trust.</p>`
}</section>`;
}
