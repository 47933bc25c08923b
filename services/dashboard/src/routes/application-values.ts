import { ApiError } from '../api/api-error.ts';
import { type ApiApplication, type AppType, hasSetting } from '../api/application-types.ts';
import type { Fields } from '../http/forms.ts';
import { USUAL_SCOPES } from '../pages/application-texts.ts';
import type { ApplicationValues } from '../pages/application-values.ts';

/** The form of a new application before anything is entered. */
export function newValues(type: AppType): ApplicationValues {
  return {
    ...{ name: '', redirectUris: '', postLogoutRedirectUris: '', backchannelLogoutUri: '' },
    scopes: USUAL_SCOPES[type],
    ...{ dpopBound: false, pushedRequests: false, legacyImplicit: false },
    ...{ idTokenAlgorithm: 'RS256', jwks: '', securityProfile: '' },
  };
}

/** The form filled with an application as it is. */
export function currentValues(application: ApiApplication): ApplicationValues {
  return {
    name: application.name,
    redirectUris: application.redirect_uris.join('\n'),
    postLogoutRedirectUris: application.post_logout_redirect_uris.join('\n'),
    backchannelLogoutUri: application.backchannel_logout_uri ?? '',
    scopes: application.scopes,
    dpopBound: application.dpop_bound_access_tokens,
    pushedRequests: application.require_pushed_authorization_requests,
    idTokenAlgorithm: application.id_token_signed_response_alg,
    legacyImplicit: application.legacy_implicit,
    jwks: application.jwks === null ? '' : JSON.stringify(application.jwks, null, 2),
    securityProfile: application.security_profile ?? '',
  };
}

/** The form as it was sent. */
export function sentValues(fields: Fields): ApplicationValues {
  return {
    name: fields.text('name'),
    redirectUris: fields.text('redirect_uris'),
    postLogoutRedirectUris: fields.text('post_logout_redirect_uris'),
    backchannelLogoutUri: fields.text('backchannel_logout_uri'),
    scopes: fields.all('scopes'),
    dpopBound: fields.has('dpop_bound_access_tokens'),
    pushedRequests: fields.has('require_pushed_authorization_requests'),
    idTokenAlgorithm: fields.text('id_token_signed_response_alg'),
    legacyImplicit: fields.has('legacy_implicit'),
    jwks: fields.text('jwks'),
    securityProfile: fields.text('security_profile'),
  };
}

/**
 * The settings as the API takes them: those that the type has. What a security profile requires is left to the API where the
 * profile is chosen. Throws ApiError for keys that are no JSON.
 */
export function settingsOf(
  values: ApplicationValues,
  type: AppType,
  before?: Pick<ApiApplication, 'security_profile'>,
): Record<string, unknown> {
  const lines = (text: string) =>
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
  const settings = {
    redirect_uris: lines(values.redirectUris),
    post_logout_redirect_uris: lines(values.postLogoutRedirectUris),
    backchannel_logout_uri: values.backchannelLogoutUri || null,
    // They have no order.
    scopes: values.scopes.toSorted(),
    dpop_bound_access_tokens: values.dpopBound,
    require_pushed_authorization_requests: values.pushedRequests,
    id_token_signed_response_alg: values.idTokenAlgorithm || 'RS256',
    legacy_implicit: values.legacyImplicit,
    jwks: keysOf(values.jwks),
    security_profile: values.securityProfile || null,
  };
  const isChosen = values.securityProfile !== '' && values.securityProfile !== before?.security_profile;
  const offered = (Object.keys(settings) as (keyof typeof settings)[]).filter(
    (name) => hasSetting(type, name) && !(isChosen && SET_BY_PROFILE.has(name)),
  );
  return {
    ...{ name: values.name, scopes: [] },
    ...Object.fromEntries(offered.map((name) => [name, settings[name]])),
  };
}

/** The settings of an application as it is. */
export function currentSettings(application: ApiApplication): Record<string, unknown> {
  return settingsOf(currentValues(application), application.type, application);
}

const SET_BY_PROFILE = new Set([
  'dpop_bound_access_tokens',
  'require_pushed_authorization_requests',
  'id_token_signed_response_alg',
]);

function keysOf(text: string): unknown {
  if (text === '') return null;
  try {
    const keys: unknown = JSON.parse(text);
    if (typeof keys === 'object' && keys !== null && !Array.isArray(keys)) return keys;
  } catch {
    // As below.
  }
  const details = [{ field: 'jwks', message: 'must be a JWK set in JSON: {"keys": […]}' }];
  throw new ApiError(400, 'The keys are not a JWK set.', { details });
}
