import type { BrandFields } from '@gatehouse/web/branding';
import { type Html, html } from '@gatehouse/web/html';
import { type Application, hasSetting } from '../../api/application-types.ts';
import { changes, shownFields } from '../../http/changes.ts';
import type { Fields } from '../../http/forms.ts';
import { BRAND_FIELDS, BRAND_LINK_FIELDS, brandPreview } from '../../pages/branding.ts';
import type { Part, PartView, Target } from '../../resources/resource.ts';
import {
  currentValues,
  type FormRow,
  fieldsOf,
  requestBody,
  resourceForm,
  sentValues,
} from '../../resources/resource-form.ts';
import { notFound } from '../../routes/visit.ts';

const ROWS: readonly FormRow[] = [
  {
    name: 'name',
    label: 'Name',
    required: true,
    maxlength: 200,
    hint: 'People see this name when they are asked to sign in.',
  },
  ...BRAND_FIELDS,
  { legend: 'Links', fields: [BRAND_LINK_FIELDS.slice(0, 2), BRAND_LINK_FIELDS.slice(2)] },
];

/** The settings that are on the page for branding. */
export const BRANDING: ReadonlySet<string> = new Set(fieldsOf(ROWS).map(({ name }) => name));

/** How an application looks to the people who sign in to it. */
export function branding({ brand = {} }: { brand?: BrandFields | undefined }): Part<Application> {
  return {
    title: 'Branding',
    notices: { saved: 'The branding is saved. People see it from now on.' },
    isShown: ({ type }) => hasSetting(type, 'primary_color'),
    view: (page) => view(page, brand),
  };
}

function view({ value, visit, path, refused }: PartView<Application>, brand: BrandFields): Html {
  if (!hasSetting(value.type, 'primary_color')) throw notFound();
  const current = currentValues(ROWS, value);
  const sent = refused && sentValues(ROWS, refused.fields);
  const isRefused = refused?.error.details.some(({ field }) => field === 'logo_uri');
  const values = { ...current, ...sent, ...(isRefused && { logo_uri: current.logo_uri ?? '' }) };
  const form = resourceForm({
    target: {
      action: `${path}/branding`,
      csrf: visit.csrf,
      hidden: shownFields(requestBody(ROWS, current), refused),
    },
    ...{ rows: ROWS, values, submit: 'Save', error: refused?.error, takesFiles: true },
  });
  const host = URL.parse(value.redirect_uris[0] ?? '')?.host || 'your application';
  const page = `/account/applications/${encodeURIComponent(value.client_id)}/preview`;
  return html`<p>The name, the logo and the colours are shown to people when they sign in to this application and when they allow it access.</p>
<div class="branding"><div class="stack">${value.role === 'viewer' ? html`<p>You are a viewer of this application: its owner and its developers change how it looks.</p>` : form}</div>
<section aria-labelledby="preview"><h2 id="preview">Preview</h2>
<p class="hint">See the <a href="${page}/sign-in">sign-in page</a> and the <a href="${page}/consent">consent page</a> as people see them, with the settings that are saved.</p>
${brandPreview(values, { brand, application: { host } })}</section></div>`;
}

/** Saves what somebody has changed. */
export async function changeBranding(target: Target<Application>, fields: Fields): Promise<string> {
  const { visit, value, path, apiPath } = target;
  const current = requestBody(ROWS, currentValues(ROWS, value));
  const changed = changes(fields, requestBody(ROWS, sentValues(ROWS, fields)), current);
  if (Object.keys(changed).length > 0) await visit.api.send('PATCH', apiPath, changed);
  return `${path}/branding?done=saved`;
}
