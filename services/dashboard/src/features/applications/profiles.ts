import { form } from '@gatehouse/web/form';
import { html } from '@gatehouse/web/html';
import { type Application, hasSetting } from '../../api/application-types.ts';
import { changes, shownFields } from '../../http/changes.ts';
import { checkbox, formProblem } from '../../pages/fields.ts';
import { facts } from '../../pages/parts.ts';
import type { Act, Part } from '../../resources/resource.ts';

/** The profiles, by the names of their pins; examples as the API returns them. */
const PINS: Record<
  string,
  { path: string; description: string; profiles: Record<string, { title: string; shape: string }> }
> = {
  v1_users: {
    path: '/v1/users',
    description: 'The format of a user under /v1, and the paging of the list.',
    profiles: {
      A: {
        title: 'A: usernames, by offset',
        shape: `{ "data": [{
    "id": "usr_…",
    "username": "ann",
    "email": "ann@example.org",
    "createdAt": "2026-…",
    "updatedAt": "2026-…" }],
  "pagination": {
    "limit": 20, "offset": 0,
    "total": 1203 } }`,
      },
      E: {
        title: 'E: names, with PATCH',
        shape: `{ "id": "usr_…",
  "email": "ann@example.org",
  "name": "Ann Lee",
  "createdAt": "2026-…" }

(has no list: lists
respond as profile A)`,
      },
      G: {
        title: 'G: names, by page',
        shape: `{ "data": [{
    "id": "usr_…",
    "name": "Ann Lee",
    "email": "ann@example.org",
    "created_at": "2026-…" }],
  "meta": {
    "total": 1203,
    "page": 1, "limit": 20 } }`,
      },
    },
  },
  v2_users: {
    path: '/v2/users',
    description: 'The paging of the list of users under /v2.',
    profiles: {
      B2: {
        title: 'B2: by page',
        shape: `{ "data": [{
    "id": "usr_…",
    "email": "ann@example.org",
    "status": "active" }],
  "meta": {
    "total": 1203, "limit": 20,
    "page": 1, "pages": 61 } }`,
      },
      B1: {
        title: 'B1: an array, by offset',
        shape: `[{
  "id": "usr_…",
  "username": "ann",
  "email": "ann@example.org",
  "status": "active",
  "created_at": "2026-…" }]`,
      },
    },
  },
  items: {
    path: '/api/v1/items',
    description: 'The paging of the list of items.',
    profiles: {
      offset: {
        title: 'offset: an array',
        shape: `[{
  "id": "itm_…",
  "name": "colours",
  "value": ["red", "green"] }]`,
      },
      cursor: {
        title: 'cursor: pages by cursor',
        shape: `{ "data": [{
    "id": "itm_…",
    "name": "colours",
    "value": ["red"] }],
  "links": { "next": "/api/…" },
  "meta": {
    "totalItems": 1203,
    "hasNextPage": true } }`,
      },
    },
  },
  userinfo: {
    path: '/userinfo',
    description: 'The claims about a person, and the format of the time of the last change.',
    profiles: {
      interface: {
        title: 'interface: a timestamp as text',
        shape: `{ "sub": "usr_…",
  "name": "Ann Lee",
  "preferred_username": "ann",
  "email": "ann@example.org",
  "updated_at":
    "2026-11-22T09:30:00.000Z" }`,
      },
      openid: {
        title: 'openid: seconds, as in OpenID Connect',
        shape: `{ "sub": "usr_…",
  "name": "Ann Lee",
  "preferred_username": "ann",
  "email": "ann@example.org",
  "updated_at": 1795339800 }`,
      },
    },
  },
};

/** The pins that the page offers; empty where there is none. */
function pinsOf({ profiles: pinned }: Application): Record<string, string> {
  return Object.fromEntries(Object.keys(PINS).map((pin) => [pin, pinned[pin] ?? '']));
}

/** Pins the chosen profiles. */
export const pinProfiles: Act<Application> = async ({ visit, value, path, apiPath }, fields) => {
  const chosen = Object.fromEntries(Object.keys(PINS).map((pin) => [pin, fields.text(pin)]));
  const changed = changes(fields, chosen, pinsOf(value));
  // A pin that this page does not offer stays as it is.
  const pinned = Object.entries({ ...value.profiles, ...changed }).filter(([, profile]) => profile !== '');
  await visit.api.send('PATCH', apiPath, { profiles: Object.fromEntries(pinned) });
  return `${path}/profiles?done=pinned`;
};

/** The choice of profiles, with the shapes side by side. */
export const profiles: Part<Application> = {
  title: 'API profiles',
  isShown: ({ type }) => hasSetting(type, 'scopes'),
  notices: { pinned: 'The profiles are saved. They apply to new tokens.' },
  async view(page) {
    const { visit, value, path, refused } = page;
    const hidden = shownFields(pinsOf(value), refused);
    const pinned = value.profiles;
    if (value.role === 'viewer') {
      const rows = Object.entries(PINS).map(([pin, it]) => [it.path, pinned[pin] ?? 'No pin'] as const);
      return html`<p>You are a viewer of this application. Its owner and its developers choose the API profiles.</p>${facts(rows)}`;
    }
    return html`<p>Some paths can respond in several formats, called profiles. Without a pin, the request selects the profile, or else the default of the deployment applies. Pin the profile that your code expects. A pin applies to tokens that are issued after you save it, and to API keys within a minute.</p>
${formProblem(refused?.error)}
${form(
  { action: `${path}/profiles`, csrf: visit.csrf, hidden },
  html`${Object.entries(PINS).map(
    ([
      pin,
      { path: apiPath, description, profiles: offered },
    ]) => html`<fieldset><legend>${apiPath}</legend><p class="hint">${description}</p>
${checkbox({ type: 'radio', name: pin, value: '', checked: pinned[pin] === undefined, label: 'No pin', hint: 'The request selects the profile, or else the default of the deployment applies.' })}
<div class="shapes">${Object.entries(offered).map(
      ([name, { title, shape }]) =>
        html`<div class="shape">${checkbox({ type: 'radio', name: pin, value: name, checked: pinned[pin] === name, label: title })}<pre tabindex="0" aria-label="${`Response format of profile ${title}`}"><code>${shape}</code></pre></div>`,
    )}</div></fieldset>`,
  )}
<div class="buttons"><button class="primary">Save</button></div>`,
)}`;
  },
};
