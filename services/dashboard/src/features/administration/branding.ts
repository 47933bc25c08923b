import { type BrandFields, brandProblems } from '@gatehouse/web/branding';
import { html } from '@gatehouse/web/html';
import { ApiError } from '../../api/api-error.ts';
import type { Fields } from '../../http/forms.ts';
import { BRAND_FIELDS, BRAND_LINK_FIELDS, brandPreview, TOO_LARGE } from '../../pages/branding.ts';
import { codeBlock } from '../../pages/parts.ts';
import type { View } from '../../pages/view.ts';
import {
  currentValues,
  type FormRow,
  requestBody,
  resourceForm,
  sentValues,
} from '../../resources/resource-form.ts';
import type { Section } from '../../routes/dashboard-router.ts';
import type { Visit } from '../../routes/visit.ts';

/** Pages of identity that show mails. */
const MAILS = [
  ['verify-email', 'Confirm an address'],
  ['new-password', 'Choose a new password'],
  ['invitation', 'Invitation'],
  ['password-changed', 'A changed password'],
] as const;

const ROWS: readonly FormRow[] = [
  {
    name: 'name',
    label: 'Name',
    required: true,
    maxlength: 40,
    hint: 'In the header of every page, in titles and in mails.',
  },
  ...BRAND_FIELDS,
  { legend: 'Links', fields: [BRAND_LINK_FIELDS.slice(0, 2), BRAND_LINK_FIELDS.slice(2)] },
];

/** How the pages of the deployment look: what is in force, and the value of the setting for another look. */
export function branding({ brand = {} }: { brand?: BrandFields | undefined }): Section {
  const inForce = currentValues(ROWS, { name: 'Gatehouse', ...brand });

  function view({ person, csrf }: Visit, sent?: Fields): View {
    if (person.role !== 'admin') throw new ApiError(403, 'Only an admin can see this page.');
    const values = sent === undefined ? inForce : sentValues(ROWS, sent);
    const given = Object.entries(requestBody(ROWS, values)).filter(([, value]) => value !== null);
    const fields: BrandFields = Object.fromEntries(given);
    const details = brandProblems(fields);
    const error =
      details.length > 0 ? new ApiError(400, 'Please check your entries.', { details }) : undefined;
    const shown = details.some(({ field }) => field === 'logo_uri')
      ? { ...values, logo_uri: inForce.logo_uri ?? '' }
      : values;
    // In single quotes, a shell and Docker Compose take the value as it is.
    const setting = `IDENTITY_BRAND='${JSON.stringify(fields).replaceAll("'", '\\u0027')}'`;
    const isSet = Object.keys(sent === undefined ? brand : fields).length > 0;
    const result = html`<section class="${sent === undefined ? 'panel' : 'panel new-secret'}"><h2>${sent === undefined ? 'In force' : 'Your new setting'}</h2>
<p${sent && html` role="status"`}>${sent === undefined ? (isSet ? 'The setting has this value now:' : 'The setting is not set: the pages have the name Gatehouse.') : html`Nothing has changed yet. Under <code>npm start</code>, stop it and start it with this line. With Docker Compose, put the setting into <code>.env</code>; in Kubernetes, put its value into the ConfigMap or Secret of identity and the dashboard. Then restart both.`} <a href="/docs/guides/production#name-logo-and-colours">About this setting</a></p>
${isSet && codeBlock('brand', setting)}${
  isSet &&
  sent !== undefined &&
  html`<h3>Under npm start</h3>
${codeBlock('brand-start', `${setting} npm start`)}`
}</section>`;
    return {
      title: 'Branding',
      section: 'branding',
      failed: error !== undefined,
      body: html`<p>The brand of the deployment, which the sign-in, consent and account pages and the mails have, is the setting <code>IDENTITY_BRAND</code>, and a change takes a restart (<a href="/docs/adr/0034-appearance">ADR 34</a> says why). This page does not change it: it checks your choice and shows the setting. An application has a brand of its own, which takes effect at once, on its page under Branding.</p>
${error === undefined && result}
<div class="branding"><div class="stack">${resourceForm({
        target: { action: '/dashboard/branding', csrf },
        ...{ rows: ROWS, values: shown, submit: 'Show the setting', error, takesFiles: true },
      })}</div>
<section aria-labelledby="preview"><h2 id="preview">Preview</h2>${brandPreview(shown, { brand })}
<h3>Mails, as they are sent now</h3>
<ul>${MAILS.map(([kind, title]) => html`<li><a href="/account/mails/${kind}/preview">${title}</a></li>`)}</ul></section></div>`,
    };
  }

  return {
    name: 'branding',
    title: 'Branding',
    role: 'admin',
    addRoutes({ get, post }) {
      get('/branding', (visit) => view(visit));
      post('/branding', async (visit, sent) => view(visit, sent), { files: true, tooLarge: TOO_LARGE });
    },
  };
}
