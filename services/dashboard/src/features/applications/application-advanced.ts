import type { FieldProblem } from '@gatehouse/core/errors';
import { type Html, html } from '@gatehouse/web/html';
import { type AppType, hasSetting } from '../../api/application-types.ts';
import { type FormField, formField } from '../../pages/form-field.ts';
import { type ApplicationValues, type TextSetting, USUAL_ALGORITHM } from './application-values.ts';

type Setting = FormField & { name: TextSetting; section: string };

const SETTINGS: readonly Setting[] = [
  {
    section: 'Security profile',
    name: 'security_profile',
    ticked: 'fapi2',
    label: 'Enforce the FAPI 2.0 Security Profile',
    hint: 'For financial data and other data of high value. The application authenticates with its own keys, which you enter below, pushes its authorization requests, and binds its tokens with DPoP. The profile turns these settings on.',
  },
  {
    section: 'Client authentication',
    name: 'jwks',
    label: 'Public keys',
    rows: 5,
    hint: html`A JWK set, <code>{"keys": […]}</code>, of public RSA, P-256 or Ed25519 keys. Never enter private keys. An application with public keys authenticates with signed assertions (private_key_jwt), and its client secrets are no longer accepted.`,
  },
  {
    section: 'Authorization requests',
    name: 'require_pushed_authorization_requests',
    ticked: 'yes',
    label: 'Require pushed authorization requests (PAR)',
    hint: 'The application sends the parameters from its server first, so that nobody can change or read them in the browser (RFC 9126).',
  },
  {
    section: 'Authorization requests',
    name: 'legacy_implicit',
    ticked: 'yes',
    label: 'Allow the implicit flow',
    hint: 'Only for an old application that cannot be changed. Its tokens are part of URLs, where they leak (RFC 9700 advises against this flow).',
  },
  {
    section: 'Tokens',
    name: 'dpop_bound_access_tokens',
    ticked: 'yes',
    label: 'Bind access tokens to a key (DPoP)',
    hint: 'A stolen token is useless without the key. Your client library has to support DPoP (RFC 9449).',
  },
  {
    section: 'Tokens',
    name: 'id_token_signed_response_alg',
    label: 'Signature algorithm of ID tokens',
    required: true,
    options: [
      ['RS256', 'RS256: every client library verifies it'],
      ['ES256', 'ES256: shorter, and required by FAPI 2.0'],
    ],
    hint: 'Logout tokens are signed with the same algorithm.',
  },
  {
    section: 'Sign-out',
    name: 'backchannel_logout_uri',
    label: 'Back-channel logout URI',
    type: 'url',
    hint: 'Gatehouse sends a logout token to this URI when a user signs out elsewhere, so that your application can end the user’s session. The URI must use https and a public host name.',
  },
];

/** What most applications leave as it is. It is unfolded where something in it was changed or is wrong. */
export function advancedSettings(
  type: AppType,
  values: ApplicationValues,
  problems: readonly FieldProblem[],
): Html {
  const offered = SETTINGS.filter(({ name }) => hasSetting(type, name));
  const isChanged = (name: TextSetting) =>
    values[name] !== (name === 'id_token_signed_response_alg' ? USUAL_ALGORITHM : '');
  const isOpen = offered.some(({ name }) => isChanged(name) || problems.some(({ field }) => field === name));
  return html`<details class="panel advanced"${isOpen && html` open`}><summary>Advanced</summary>
${[...Map.groupBy(offered, ({ section }) => section)].map(
  ([section, settings]) =>
    html`<fieldset><legend>${section}</legend>${settings.map((it) => formField(it, values[it.name], problems))}</fieldset>`,
)}</details>`;
}
