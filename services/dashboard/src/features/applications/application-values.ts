import { ApiError } from '../../api/api-error.ts';
import { type ApiApplication, type AppType, hasSetting } from '../../api/application-types.ts';
import type { Fields } from '../../http/forms.ts';
import { USUAL_SCOPES } from './application-texts.ts';

/** How the API takes the settings that a form has as texts: lines, a box that is ticked or not, a text or null, or JSON. */
const SETTINGS = {
  redirect_uris: 'lines',
  post_logout_redirect_uris: 'lines',
  backchannel_logout_uri: 'text',
  dpop_bound_access_tokens: 'box',
  require_pushed_authorization_requests: 'box',
  id_token_signed_response_alg: 'text',
  legacy_implicit: 'box',
  jwks: 'keys',
  security_profile: 'text',
} as const;
export type TextSetting = keyof typeof SETTINGS;
const NAMES = Object.keys(SETTINGS) as TextSetting[];

/** What the form of an application is filled with; a box that is not ticked is empty. */
export type ApplicationValues = { name: string; scopes: readonly string[] } & Record<TextSetting, string>;

export const USUAL_ALGORITHM = 'RS256';

function valuesBy(text: (name: TextSetting) => string): Record<TextSetting, string> {
  return Object.fromEntries(NAMES.map((name) => [name, text(name)])) as Record<TextSetting, string>;
}

/** The form of a new application before anything is entered. */
export function newValues(type: AppType): ApplicationValues {
  const id_token_signed_response_alg = USUAL_ALGORITHM;
  return { name: '', scopes: USUAL_SCOPES[type], ...valuesBy(() => ''), id_token_signed_response_alg };
}

/** The form filled with an application as it is. */
export function currentValues(application: ApiApplication): ApplicationValues {
  const { name, scopes } = application;
  const texts = valuesBy((setting) => {
    const value = application[setting];
    if (Array.isArray(value)) return value.join('\n');
    if (typeof value === 'object' && value !== null) return JSON.stringify(value, null, 2);
    return typeof value === 'boolean' ? (value ? 'yes' : '') : (value ?? '');
  });
  return { name, scopes, ...texts };
}

/** The form as it was sent. */
export function sentValues(fields: Fields): ApplicationValues {
  return { name: fields.text('name'), scopes: fields.all('scopes'), ...valuesBy(fields.text) };
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
  const profile = values.security_profile;
  const isChosen = profile !== '' && profile !== before?.security_profile;
  const offered = NAMES.filter((name) => hasSetting(type, name) && !(isChosen && SET_BY_PROFILE.has(name)));
  return {
    name: values.name,
    // They have no order.
    scopes: hasSetting(type, 'scopes') ? values.scopes.toSorted() : [],
    ...Object.fromEntries(offered.map((name) => [name, settingOf(name, values[name])])),
  };
}

function settingOf(name: TextSetting, text: string): unknown {
  const kind = SETTINGS[name];
  if (kind === 'box') return text !== '';
  if (kind === 'keys') return keysOf(text);
  if (kind === 'text') return text || (name === 'id_token_signed_response_alg' ? USUAL_ALGORITHM : null);
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '');
}

/** The settings of an application as it is. */
export function currentSettings(application: ApiApplication): Record<string, unknown> {
  return settingsOf(currentValues(application), application.type, application);
}

const SET_BY_PROFILE: ReadonlySet<string> = new Set([
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
