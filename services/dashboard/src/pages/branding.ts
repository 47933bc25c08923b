import { type BrandFields, brandOf } from '@gatehouse/web/branding';
import { type Html, html } from '@gatehouse/web/html';
import { logo } from '@gatehouse/web/illustrations';
import type { FormField } from './fields.ts';

/** How an application or a deployment looks to people. */
export const BRAND_FIELDS: readonly FormField[] = [
  {
    name: 'primary_color',
    label: 'Colour',
    kind: 'colour',
    hint: 'The colour of buttons and links, such as #0b5a4f. A shade that would be hard to read is made darker or lighter.',
  },
  {
    name: 'logo_uri',
    label: 'Picture',
    kind: 'picture',
    hint: 'A PNG of at most 16 KiB and 512 × 512 pixels. Where scripts run, any other picture is made to fit.',
  },
];

/** Why a form with a picture is not read. */
export const TOO_LARGE = 'The picture is too large. Choose a PNG of at most 16 KiB.';

/** The links that people see beside the name. */
export const BRAND_LINK_FIELDS: readonly FormField[] = [
  ['client_uri', 'Home page'],
  ['policy_uri', 'Privacy policy'],
  ['tos_uri', 'Terms of service'],
  ['support_uri', 'Support'],
].map(([name = '', label = '']) => {
  return { name, label, subject: `The link “${label}”`, type: 'url' };
});

/**
 * The sign-in and consent pages in small, as they look with the values of the form on the page: of an application in a deployment,
 * or of the deployment itself. The script shows it and keeps it up to date (browser/branding.js).
 */
export function brandPreview(
  values: Readonly<Record<string, string>>,
  of: { brand: BrandFields; application?: { host: string } },
): Html {
  const { application } = of;
  const deployment = brandOf(of.brand);
  const name = html`<span data-of="name">${values.name}</span>`;
  const picture = html`<img class="${application ? 'look-picture' : 'mark'}" alt="" hidden data-of="logo_uri">`;
  const links = html`<p class="look-links">${BRAND_LINK_FIELDS.map(({ name: field, label }) => html`<span hidden data-of="${field}">${label}</span>`)}</p>`;
  const inForce = deployment.logo
    ? html`<img class="mark" alt="" src="data:image/png;base64,${deployment.logo}">`
    : logo;
  const header = html`<p class="brand">${application ? html`${inForce}${deployment.name}` : html`${picture}${logo}${name}`}</p>`;
  const asking = application
    ? html`<div class="look-asking">${picture}<strong>${name}</strong><span>at ${application.host}</span>${links}</div>`
    : html`<div class="look-asking"><strong>An application</strong><span>at app.example</span></div>`;
  const page = (title: string, content: Html) =>
    html`<div class="look-page">${header}<div class="look-body"><p class="look-title">${title}</p>${content}${!application && links}</div></div>`;
  const sheets = [
    ...(application ? [...(deployment.stylesheets ?? []), '/account/accent/'] : ['/account/brand/']),
  ];
  return html`<div class="look" inert hidden data-sheets="${sheets.join(' ')}">
${page(
  'Sign in',
  html`<p>to continue to</p>${asking}<p class="look-field">Username or email</p><p class="look-field">Password</p><p class="row-buttons"><span class="primary">Sign in</span><span class="secondary">Cancel</span></p><p class="look-link">Forgotten your password?</p>`,
)}
${page(
  'Allow this application to use your account?',
  html`${asking}<ul><li>Know who you are</li><li>See your email address</li></ul><p class="row-buttons"><span class="primary">Allow</span><span class="secondary">Do not allow</span></p>`,
)}</div>`;
}
