import type { Role } from '@gatehouse/tokens/scopes';
import { brand } from '@gatehouse/web/brand';
import { form, type PageForm } from '@gatehouse/web/form';
import { hostname, named } from '@gatehouse/web/formatting';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { Acting } from '../../core/oidc/acting.ts';
import type { ProtectedResource } from '../../core/oidc/protected-resource.ts';
import { standalonePage } from '../../pages/document.ts';
import { type RequestingApplication, requestingApplication } from '../../pages/requesting-application.ts';
import { describeScopes, type ScopeGroup } from '../../pages/scope-descriptions.ts';
import { t } from '../../texts/texts.ts';

export type ConsentModel = {
  form: PageForm;
  application: RequestingApplication;
  account: { username: string; email?: string | null; role: Role };
  scopes: readonly string[];
  /** The resources of others that it asks for. */
  resources?: readonly ProtectedResource[];
  /** The applications that can then act for the person, each with the most role that it has. */
  acting?: readonly (Acting & { role: Role })[];
  /** The scopes that the person has not allowed before, if others have been. */
  newScopes?: readonly string[] | undefined;
  /** Further facts about the request, for people to judge it. */
  details?: Content;
  links: { useAnotherAccount?: string | undefined };
  isPreview?: boolean;
};

/** Asks for permission. The form sends `decision`: `allow` by the first button, `deny` by the second. */
export function consentPage(model: ConsentModel): string {
  const { application, account, newScopes = [], resources = [], acting = [] } = model;
  return standalonePage({
    ...{ application, isPreview: model.isPreview },
    title: t('Allow {application} to use your account?', { application: application.name }),
    heading: t('Allow this application to use your account?'),
    body: html`${requestingApplication(application)}
${model.details}
<p class="account">${t('You are signed in as {username}.', {
      username: html`${named(account.username)}${account.email && html` <span class="account-email"><bdi>${account.email}</bdi></span>`}`,
    })}
${model.links.useAnotherAccount !== undefined && html`<a href="${model.links.useAnotherAccount}">${t('Not you? Use another account')}</a>`}</p>
${newScopes.length > 0 && html`<p>${t('You have allowed some of these permissions before. New permissions are marked {new}.', { new: newMark() })}</p>`}
<section class="permissions" aria-labelledby="permissions">
<h2 id="permissions">${t('If you allow access, this application can:')}</h2>
${permissionGroups(describeScopes(model.scopes, account.role, resources), newScopes)}
${permissionGroups(acting.map(describeActing))}
</section>
${form(
  model.form,
  html`<div class="buttons"><button class="primary" name="decision" value="allow">${t('Allow')}</button>
<button class="secondary" name="decision" value="deny">${t('Do not allow')}</button></div>`,
)}
<p class="hint">${t('The application keeps these permissions until you revoke them, even while you are not using it. You can revoke them at any time under Applications in your account. The application never sees your password.')}</p>
<p class="hint">${afterwards(application)}</p>`,
  });
}

/** The scopes of an application that acts for the person, under a heading that says where. */
export function describeActing({ application, at, scopes, role }: Acting & { role: Role }): ScopeGroup {
  const isOther = 'id' in at;
  const groups = describeScopes(scopes, role, isOther ? [at] : []);
  return {
    title: t('{application} can act for you at {resource} ({host})', {
      application: application.name,
      resource: isOther ? at.name : brand().name,
      host: new URL(isOther ? at.identifier : at.audience).host,
    }),
    sentences: groups.flatMap(({ sentences }) => sentences),
  };
}

function afterwards({ host, isOnOtherDevice }: RequestingApplication): Content {
  if (isOnOtherDevice) return t('In both cases your other device continues by itself.');
  if (host === undefined) return t('In both cases you return to the app on this device.');
  return t('In both cases you return to {host}.', { host: hostname(host) });
}

const newMark = () => html`<strong class="new">${t('New')}</strong>`;

/** The permissions as lists with a heading each (h3). */
export function permissionGroups(groups: readonly ScopeGroup[], newScopes: readonly string[] = []): Html[] {
  return groups.map(
    ({ title, sentences }) => html`<h3>${title}</h3>
<ul>${sentences.map(({ sentence, scopes }) => html`<li>${t('{sentence}.', { sentence })}${scopes.every((scope) => newScopes.includes(scope)) && html` ${newMark()}`}</li>`)}</ul>`,
  );
}
