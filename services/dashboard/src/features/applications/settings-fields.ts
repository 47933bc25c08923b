import { isLoopback } from '@gatehouse/core/web-uris';
import { html } from '@gatehouse/web/html';
import { type Application, type AppType, hasSetting } from '../../api/application-types.ts';
import { YES } from '../../pages/fields.ts';
import { currentValues, type FormRow, fieldsOf, type ResourceField } from '../../resources/resource-form.ts';
import type { Visit } from '../../routes/visit.ts';
import { SCOPES, USUAL_SCOPES } from './application-texts.ts';
import { BRANDING } from './branding.ts';

const LAPTOP_REDIRECT_URI = 'http://localhost:4000/callback';
const REDIRECT_HINT: Partial<Record<AppType, string>> = {
  web: `Where people return to after they sign in. Enter one URI per line, with https, or with http on 127.0.0.1 or localhost while you develop: ${LAPTOP_REDIRECT_URI}, for example. URIs are compared character by character. An application that uses only the device flow needs none.`,
  spa: `The pages of your application that people return to after they sign in. Enter one URI per line, with https, or with http on 127.0.0.1 or localhost while you develop: ${LAPTOP_REDIRECT_URI}, for example.`,
  native:
    'Enter one URI per line: an https address that opens your application, a scheme of your own such as com.example.app:/callback or example-app://callback, or http://127.0.0.1/callback, for which any port is accepted. An application that uses only the device flow needs none.',
};

/** The fields that most applications leave as they are. */
const ADVANCED: readonly { legend: string; fields: readonly ResourceField[] }[] = [
  {
    legend: 'Security profile',
    fields: [
      {
        name: 'security_profile',
        ticked: 'fapi2',
        label: 'Enforce the FAPI 2.0 Security Profile',
        subject: 'The security profile',
        hint: 'For financial data and other data of high value. The application authenticates with its own keys, which you enter below, pushes its authorization requests, and binds its tokens with DPoP. The profile turns these settings on.',
      },
    ],
  },
  {
    legend: 'Client authentication',
    fields: [
      {
        name: 'jwks',
        label: 'Public keys',
        subject: 'The key set',
        kind: 'json',
        json: 'a JWK set in JSON: {"keys": […]}',
        rows: 5,
        hint: html`A JWK set, <code>{"keys": […]}</code>, of public RSA, P-256 or Ed25519 keys. Never enter private keys. An application with public keys authenticates with signed assertions (private_key_jwt), and its client secrets are no longer accepted.`,
      },
      {
        name: 'jwks_uri',
        label: 'URL of the public keys',
        subject: 'The URL of the public keys',
        hint: 'In place of the keys themselves. Gatehouse fetches them when it needs them, at most once a minute, so that you can replace a key at the URL.',
      },
    ],
  },
  {
    legend: 'Authorization requests',
    fields: [
      {
        name: 'require_second_factor',
        kind: 'flag',
        label: 'Require a second factor',
        subject: 'The requirement of a second factor',
        hint: 'People sign in to the application with a passkey, or with their password and a code. Those who have neither set one up on the way in.',
      },
      {
        name: 'require_pushed_authorization_requests',
        kind: 'flag',
        label: 'Require pushed authorization requests (PAR)',
        subject: 'The requirement to push requests',
        hint: 'The application sends the parameters from its server first, so that nobody can change or read them in the browser (RFC 9126).',
      },
      {
        name: 'device_flow',
        kind: 'flag',
        label: 'Allow the device flow',
        subject: 'The device flow',
        hint: 'For televisions, consoles and command lines: the device shows a code, which people enter in a browser elsewhere (RFC 8628). An application that uses no other flow needs no redirect URI.',
      },
      {
        name: 'legacy_implicit',
        kind: 'flag',
        label: 'Allow the implicit flow',
        subject: 'The implicit flow',
        hint: 'Only for an old application that cannot be changed. Its tokens are part of URLs, where they leak (RFC 9700 advises against this flow).',
      },
    ],
  },
  {
    legend: 'Tokens',
    fields: [
      {
        name: 'dpop_bound_access_tokens',
        kind: 'flag',
        label: 'Bind access tokens to a key (DPoP)',
        subject: 'DPoP binding',
        hint: 'A stolen token is useless without the key. Your client library has to support DPoP (RFC 9449).',
      },
      {
        name: 'id_token_signed_response_alg',
        label: 'Signature algorithm of ID tokens',
        required: true,
        options: [
          ['RS256', 'RS256: every client library verifies it'],
          ['ES256', 'ES256: shorter, and required by FAPI 2.0'],
        ],
        initial: 'RS256',
        hint: 'Logout tokens are signed with the same algorithm.',
      },
      {
        name: 'id_token_profile_claims',
        kind: 'flag',
        label: 'Put the profile into ID tokens',
        subject: 'The profile in ID tokens',
        initial: YES,
        hint: 'With the scope profile, ID tokens have the name, the username and the picture, which many libraries read nowhere else. They are at /userinfo in any case.',
      },
    ],
  },
  {
    legend: 'Token exchange',
    fields: [
      {
        name: 'token_exchange',
        label: 'APIs',
        subject: 'The list of APIs',
        kind: 'lines',
        rows: 3,
        hint: html`When a person calls your API, the application can exchange their token for one for another API, and act there for them (RFC 8693). Enter one API per line: its URL, then scopes, such as “https://calendar.example calendar:read”. Begin with the URL of your own API, which may have no scopes. <a href="/docs/guides/agents">How it works</a>`,
      },
    ],
  },
  {
    legend: 'Identity assertions',
    fields: [
      {
        name: 'identity_assertions',
        label: 'Authorization servers',
        subject: 'The list of authorization servers',
        kind: 'lines',
        rows: 3,
        hint: html`The application can act for its users at other authorization servers, which have Gatehouse as their identity provider (ID-JAG). Only admins add them, and they end with the role of that admin. Enter one server per line: its issuer, the client ID of the application there, then scopes, such as “https://chat.example f53f191f chat:read”. To bound it to some APIs there, add “|” and their URLs. <a href="/docs/guides/agents#act-for-people-at-another-organization">How it works</a>`,
      },
    ],
  },
  {
    legend: 'Sign-out',
    fields: [
      {
        name: 'backchannel_logout_uri',
        label: 'Back-channel logout URI',
        type: 'url',
        hint: 'Gatehouse sends a logout token to this URI when a user signs out elsewhere, so that your application can end the user’s session. The URI must use https and a public host name.',
      },
    ],
  },
];

/** The settings that a security profile decides. */
export const SET_BY_PROFILE: ReadonlySet<string> = new Set([
  'dpop_bound_access_tokens',
  'require_pushed_authorization_requests',
  'id_token_signed_response_alg',
]);

/** The form of an application of a type; for admins with the settings that only they change. */
function applicationFields(type: AppType, isForAdmin: boolean): readonly FormRow[] {
  const signsIn = hasSetting(type, 'redirect_uris');
  const asked = signsIn ? 'People are asked to allow these scopes. ' : '';
  const advanced = ADVANCED.map(({ legend, fields }) => ({
    legend,
    fields: fields.filter(
      ({ name }) => hasSetting(type, name) && (isForAdmin || name !== 'identity_assertions'),
    ),
  }));
  const general: readonly ResourceField[] = [
    {
      name: 'name',
      label: 'Name',
      required: true,
      maxlength: 200,
      hint: signsIn
        ? 'People see this name when they are asked to sign in.'
        : 'The name appears in lists and in the audit log.',
    },
    {
      name: 'redirect_uris',
      label: 'Redirect URIs',
      line: 'Redirect URI',
      kind: 'lines',
      rows: 3,
      required: type === 'spa',
      // Those of the device flow need none.
      conditional: type !== 'spa',
      hint: REDIRECT_HINT[type],
    },
    {
      name: 'post_logout_redirect_uris',
      label: 'Post-logout redirect URIs',
      line: 'Post-logout redirect URI',
      kind: 'lines',
      rows: 2,
      hint: 'Where people may be sent after they sign out. Enter one URI per line.',
    },
    {
      name: 'scopes',
      label: 'Permissions',
      kind: 'several',
      options: SCOPES.filter(({ personal }) => signsIn || !personal).map(({ name, description }) => [
        name,
        description,
      ]),
      initial: USUAL_SCOPES[type].join(' '),
      hint: `The scopes that the application can request. ${asked}Choose only the scopes that it needs. You can add more later. The application never has more permissions than your own role.`,
    },
  ];
  return [
    ...general.filter(({ name }) => hasSetting(type, name)),
    { folded: 'Advanced', fields: advanced.filter(({ fields }) => fields.length > 0) },
  ];
}

/** The settings of a new application; those that few people change are folded. Under `npm start`, a redirect URI is proposed. */
export function newApplicationFields(type: AppType, publicUrl: string): readonly FormRow[] {
  const usual = USUAL_SCOPES[type].join(', ');
  const isOnLaptop = isLoopback(new URL(publicUrl));
  return applicationFields(type, false).map((row) => {
    if (!('name' in row)) return row;
    if (row.name === 'redirect_uris' && type === 'web' && isOnLaptop)
      return { ...row, initial: LAPTOP_REDIRECT_URI };
    if (row.name === 'scopes' && hasSetting(type, 'redirect_uris'))
      return { folded: `Permissions: ${usual}`, fields: [row] };
    return row.name === 'post_logout_redirect_uris' ? { folded: 'After a sign-out', fields: [row] } : row;
  });
}

/** The settings that developers of an application change too. They only remove scopes. */
const OF_DEVELOPERS: ReadonlySet<string> = new Set([...BRANDING, 'scopes']);

/** The form of the settings of an application beside its branding, with those that the visitor may change. */
export function settingsFields({ type, role, scopes }: Application, { person }: Visit): readonly FormRow[] {
  const all = applicationFields(type, person.role === 'admin');
  const isElsewhere = (row: FormRow) =>
    'name' in row && BRANDING.has(row.name) && hasSetting(type, 'logo_uri');
  const rows = all.filter((row) => !isElsewhere(row));
  if (role === 'owner') return rows;
  const present = ({ options = [], ...field }: ResourceField): ResourceField => {
    const kept = options.filter(([name = '']) => scopes.includes(name));
    return { ...field, options: kept, hint: 'Remove the scopes that the application does not need.' };
  };
  return fieldsOf(rows)
    .filter(({ name }) => OF_DEVELOPERS.has(name))
    .map((field) => (field.name === 'scopes' ? present(field) : field));
}

/** The settings that only the owner changes, and for viewers the scopes, where they have a value. */
export function ownerSettings(application: Application): readonly (ResourceField & { value: string })[] {
  const fields = fieldsOf(applicationFields(application.type, true));
  const values = currentValues(fields, application);
  return fields
    .filter(({ name }) => !OF_DEVELOPERS.has(name) || (name === 'scopes' && application.role === 'viewer'))
    .map((field) => ({ ...field, value: values[field.name] ?? '' }))
    .filter(({ value }) => value !== '');
}
