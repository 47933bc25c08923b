import type { FieldProblem } from '@gatehouse/core/errors';
import { type Content, type Html, html } from '@gatehouse/web/html';
import { type AppType, hasSetting } from '../api/application-types.ts';
import type { ApplicationValues } from './application-values.ts';
import { checkbox, selectField, textArea, textField } from './fields.ts';

const ID_TOKEN_ALGORITHMS = [
  ['RS256', 'RS256: every client library verifies it'],
  ['ES256', 'ES256: shorter, and required by FAPI 2.0'],
] as const;

type Setting = Exclude<
  Parameters<typeof hasSetting>[1],
  'redirect_uris' | 'post_logout_redirect_uris' | 'scopes'
>;

/** What most applications leave as it is. It is unfolded where something in it was changed or is wrong. */
export function advancedSettings(
  type: AppType,
  values: ApplicationValues,
  problems: readonly FieldProblem[],
): Html | false {
  const settings = settingsOf(values, problems);
  const offered = SECTIONS.map(({ title, names }) => ({
    title,
    names: names.filter((name) => hasSetting(type, name)),
  })).filter(({ names }) => names.length > 0);
  const isOpen = offered.some(({ names }) =>
    names.some((name) => settings[name].isChanged || problems.some(({ field }) => field === name)),
  );
  return html`<details class="panel advanced"${isOpen && html` open`}><summary>Advanced</summary>
${offered.map(({ title, names }) => html`<fieldset><legend>${title}</legend>${names.map((name) => settings[name].control)}</fieldset>`)}</details>`;
}

const SECTIONS: { title: string; names: Setting[] }[] = [
  { title: 'Security profile', names: ['security_profile'] },
  { title: 'Client authentication', names: ['jwks'] },
  {
    title: 'Authorization requests',
    names: ['require_pushed_authorization_requests', 'legacy_implicit'],
  },
  { title: 'Tokens', names: ['dpop_bound_access_tokens', 'id_token_signed_response_alg'] },
  { title: 'Sign-out', names: ['backchannel_logout_uri'] },
];

function settingsOf(
  values: ApplicationValues,
  problems: readonly FieldProblem[],
): Record<Setting, { isChanged: boolean; control: Html }> {
  const box = (name: Setting, checked: boolean, label: string, hint: Content, value = 'yes') => ({
    isChanged: checked,
    control: checkbox({ name, value, checked, label, hint, problems }),
  });
  const { securityProfile, jwks, idTokenAlgorithm, backchannelLogoutUri } = values;
  return {
    security_profile: box(
      'security_profile',
      securityProfile === 'fapi2',
      'Enforce the FAPI 2.0 Security Profile',
      'For financial data and other data of high value. The application authenticates with its own keys, which you enter below, pushes its authorization requests, and binds its tokens with DPoP. The profile turns these settings on.',
      'fapi2',
    ),
    jwks: {
      isChanged: jwks !== '',
      control: textArea({
        name: 'jwks',
        label: 'Public keys',
        value: jwks,
        rows: 5,
        problems,
        hint: html`A JWK set, <code>{"keys": […]}</code>, of public RSA, P-256 or Ed25519 keys. Never enter private keys. An application with public keys authenticates with signed assertions (private_key_jwt), and its client secrets are no longer accepted.`,
      }),
    },
    require_pushed_authorization_requests: box(
      'require_pushed_authorization_requests',
      values.pushedRequests,
      'Require pushed authorization requests (PAR)',
      'The application sends the parameters from its server first, so that nobody can change or read them in the browser (RFC 9126).',
    ),
    legacy_implicit: box(
      'legacy_implicit',
      values.legacyImplicit,
      'Allow the implicit flow',
      'Only for an old application that cannot be changed. Its tokens are part of URLs, where they leak (RFC 9700 advises against this flow).',
    ),
    dpop_bound_access_tokens: box(
      'dpop_bound_access_tokens',
      values.dpopBound,
      'Bind access tokens to a key (DPoP)',
      'A stolen token is useless without the key. Your client library has to support DPoP (RFC 9449).',
    ),
    id_token_signed_response_alg: {
      isChanged: idTokenAlgorithm !== 'RS256',
      control: selectField({
        name: 'id_token_signed_response_alg',
        label: 'Signature algorithm of ID tokens',
        required: true,
        value: idTokenAlgorithm,
        options: ID_TOKEN_ALGORITHMS,
        problems,
        hint: 'Logout tokens are signed with the same algorithm.',
      }),
    },
    backchannel_logout_uri: {
      isChanged: backchannelLogoutUri !== '',
      control: textField({
        name: 'backchannel_logout_uri',
        label: 'Back-channel logout URI',
        value: backchannelLogoutUri,
        type: 'url',
        problems,
        hint: 'Gatehouse sends a logout token to this URI when a user signs out elsewhere, so that your application can end the user’s session. The URI must use https and a public host name.',
      }),
    },
  };
}
