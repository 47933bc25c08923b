import { form, type PageForm } from '@gatehouse/web/form';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { ApiError } from '../../api/api-error.ts';
import type { ApiApplication } from '../../api/application-types.ts';
import { hasSetting, isConfidential } from '../../api/application-types.ts';
import { checkbox, formProblem } from '../../pages/fields.ts';
import { copyable, facts, lastUsed, tabs, time } from '../../pages/parts.ts';
import type { View } from '../../pages/view.ts';
import { PINS, TYPES } from './application-texts.ts';

/** A page of one application, with links to its others. */
export function applicationView(
  application: ApiApplication,
  page: { path: string; body: Content; notice?: string | undefined; failed?: boolean; charts?: boolean },
): View {
  const base = `/dashboard/applications/${encodeURIComponent(application.client_id)}`;
  const pages = [
    [base, 'Settings'],
    [`${base}/credentials`, 'Credentials'],
    [`${base}/quick-start`, 'Quick start'],
    [`${base}/usage`, 'Usage'],
    ...(hasSetting(application.type, 'scopes') ? ([[`${base}/profiles`, 'API profiles']] as const) : []),
  ] as const;
  const part = pages.find(([href]) => href === base + page.path)?.[1];
  return {
    title: application.name,
    ...(part === undefined ? {} : { part }),
    section: 'applications',
    trail: [{ href: '/dashboard/applications', title: 'Applications' }],
    notice: page.notice,
    failed: page.failed ?? false,
    charts: page.charts ?? false,
    body: html`${tabs('This application', base + page.path, pages)}
${page.body}`,
  };
}

/** What an application is; `owner` is who that is, in words. */
export function applicationFacts(application: ApiApplication, owner: Content): Html {
  const { client_id: id, type, created_at: created } = application;
  return html`<section class="panel">${facts([
    ['Client ID', copyable('client-id', id)],
    ['Type', TYPES[type].name],
    ['Authentication', authentication(application)],
    ['Owner', owner],
    ['Created', time(created)],
    ['Last used', lastUsed(application, 'never')],
  ])}</section>`;
}

function authentication(application: ApiApplication): string {
  if (!isConfidential(application)) return 'PKCE, without a secret';
  return application.token_endpoint_auth_method === 'private_key_jwt'
    ? 'Signed assertion (private_key_jwt)'
    : 'Client secret';
}

/** The choice of profiles, with the shapes side by side. */
export function profileForm(it: {
  target: PageForm;
  pinned: Readonly<Record<string, string>>;
  error?: ApiError | undefined;
}): Html {
  return html`<p>Some paths can respond in several formats, called profiles. Without a pin, the request selects the profile, or else the default of the deployment applies. Pin the profile that your code expects. A pin applies to tokens that are issued after you save it, and to API keys within a minute.</p>
${formProblem(it.error, [])}
${form(
  it.target,
  html`${Object.entries(PINS).map(
    ([
      pin,
      { path, description, profiles },
    ]) => html`<fieldset><legend>${path}</legend><p class="hint">${description}</p>
${checkbox({ type: 'radio', name: pin, value: '', checked: it.pinned[pin] === undefined, label: 'No pin', hint: 'The request selects the profile, or else the default of the deployment applies.' })}
<div class="shapes">${Object.entries(profiles).map(
      ([name, { title, shape }]) =>
        html`<div class="shape">${checkbox({ type: 'radio', name: pin, value: name, checked: it.pinned[pin] === name, label: title })}<pre tabindex="0" aria-label="${`Response format of profile ${title}`}"><code>${shape}</code></pre></div>`,
    )}</div></fieldset>`,
  )}
<div class="buttons"><button class="primary">Save</button></div>`,
)}`;
}
