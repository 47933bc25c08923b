import type { FieldProblem } from '@gatehouse/core/errors';
import { hasInvisibleCharacters } from '@gatehouse/domain/invisible-characters';
import { API_SCOPES, OIDC_SCOPES } from '@gatehouse/tokens/scopes';
import { appearanceProblems } from '@gatehouse/web/branding';
import { type Application, isConfidential, signsPeopleIn } from './application.ts';
import { logoutUriProblem, MAX_REDIRECT_URIS, redirectUriProblem } from './redirect-uris.ts';
import { securityProfileProblems } from './security-profile.ts';

const MAX_NAME = 200;
const MAX_EXCHANGE_RULES = 20;
const MAX_EXCHANGE_SCOPES = 50;
/** RFC 6749 §3.3. */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/;
const SCOPES: readonly string[] = [...OIDC_SCOPES, ...API_SCOPES];
/** The scopes about the signed-in person, which a machine never has. */
export const PERSONAL_SCOPES: readonly string[] = [...OIDC_SCOPES, 'read:profile'];

export type Settings = Omit<
  Application,
  | 'id'
  | 'owner'
  | 'trust'
  | 'secrets'
  | 'lastUse'
  | 'epoch'
  | 'jwksGiven'
  | 'registrableScopes'
  | 'lockedSettings'
  | 'createdAt'
  | 'updatedAt'
  | 'scopes'
>;

/** The problem of the name of an application or a key. */
export function nameProblems(name: string): FieldProblem[] {
  if ([...name].length > MAX_NAME)
    return [{ field: 'name', message: `must have at most ${MAX_NAME} characters` }];
  if (!/[\p{L}\p{N}\p{P}\p{S}]/u.test(name)) return [{ field: 'name', message: 'Enter a name.' }];
  if (hasInvisibleCharacters(name)) {
    return [{ field: 'name', message: 'must not contain invisible characters' }];
  }
  return [];
}

/** The problems of an application's settings, scopes aside. */
export function settingsProblems(settings: Settings): FieldProblem[] {
  const { type, legacyImplicit, jwks, backchannelLogoutUri, dpopBound, trusted } = settings;
  const problems = [
    ...nameProblems(settings.name),
    ...uriProblems('redirect_uris', settings.redirectUris, settings),
    ...uriProblems('post_logout_redirect_uris', settings.postLogoutRedirectUris, settings),
  ];
  const refuse = (when: boolean, field: string, message: string) => {
    if (when) problems.push({ field, message });
  };
  refuse(
    signsPeopleIn(settings) && settings.redirectUris.length === 0 && !settings.deviceFlow,
    'redirect_uris',
    'Add at least one redirect URI.',
  );
  refuse(
    settings.deviceFlow && type !== 'native' && type !== 'web',
    'device_flow',
    'is for applications of type native and web',
  );
  refuse(
    legacyImplicit && type !== 'spa' && type !== 'web',
    'legacy_implicit',
    'is for applications of type spa and web',
  );
  refuse(
    legacyImplicit && dpopBound,
    'legacy_implicit',
    'cannot be combined with dpop_bound_access_tokens: the implicit flow binds no tokens',
  );
  refuse(
    jwks !== undefined && !isConfidential(settings),
    'jwks',
    'is for applications of type web, machine and resource, which can keep a private key',
  );
  refuse(
    settings.requirePushedRequests && !signsPeopleIn(settings),
    'require_pushed_authorization_requests',
    `is not for applications of type ${type}: nobody signs in to them`,
  );
  refuse(
    settings.requireSecondFactor && !signsPeopleIn(settings),
    'require_second_factor',
    `is not for applications of type ${type}: nobody signs in to them`,
  );
  refuse(
    settings.requirePushedRequests && legacyImplicit,
    'require_pushed_authorization_requests',
    'cannot be combined with legacy_implicit: old applications push nothing',
  );
  refuse(
    settings.tokenExchange.length > 0 && signsPeopleIn(settings),
    'token_exchange',
    'is for applications of type machine and resource',
  );
  refuse(trusted && type !== 'machine', 'trusted', 'is for applications of type machine');
  if (backchannelLogoutUri !== undefined) {
    const problem = signsPeopleIn(settings)
      ? logoutUriProblem(backchannelLogoutUri)
      : `is not for applications of type ${type}: nobody signs in to them`;
    refuse(problem !== undefined, 'backchannel_logout_uri', problem ?? '');
  }
  problems.push(...exchangeProblems(settings.tokenExchange));
  return [...problems, ...appearanceProblems(settings), ...securityProfileProblems(settings)];
}

/** The problems of the APIs at which an application may act for people. Whether they exist is known when it asks for a token. */
function exchangeProblems(rules: Settings['tokenExchange']): FieldProblem[] {
  const field = 'token_exchange';
  if (rules.length > MAX_EXCHANGE_RULES)
    return [{ field, message: `must have at most ${MAX_EXCHANGE_RULES}` }];
  if (new Set(rules.map(({ resource }) => resource)).size < rules.length)
    return [{ field, message: 'must name each API once' }];
  return rules.flatMap(({ resource, scopes }, i) => [
    ...(URL.parse(resource)?.href.includes('#') === false
      ? []
      : [{ field: `${field}.${i}.resource`, message: 'must be an absolute URL without a fragment' }]),
    ...(scopes.length <= MAX_EXCHANGE_SCOPES && scopes.every((scope) => SCOPE_TOKEN.test(scope))
      ? []
      : [
          {
            field: `${field}.${i}.scopes`,
            message: `must be at most ${MAX_EXCHANGE_SCOPES} names of scopes`,
          },
        ]),
  ]);
}

function uriProblems(field: string, uris: readonly string[], settings: Settings): FieldProblem[] {
  if (uris.length === 0) return [];
  if (!signsPeopleIn(settings)) {
    return [{ field, message: `is not for applications of type ${settings.type}, which have no browser` }];
  }
  if (uris.length > MAX_REDIRECT_URIS) {
    return [{ field, message: `must have at most ${MAX_REDIRECT_URIS}` }];
  }
  if (new Set(uris).size < uris.length) return [{ field, message: 'must not contain duplicates' }];
  return uris.flatMap((uri, i) => {
    const message = redirectUriProblem(uri, settings);
    return message === undefined ? [] : [{ field: `${field}.${i}`, message }];
  });
}

/** The problem of the scopes of an application whose owner may give it those in `allowed`. */
export function scopeProblems(
  scopes: readonly string[],
  { type, allowed }: { type: Application['type']; allowed: readonly string[] },
): FieldProblem[] {
  if (type === 'resource') {
    const message = 'must be empty for an application of type resource, which has only revocations:read';
    return scopes.length === 0 ? [] : [{ field: 'scopes', message }];
  }
  const unknown = scopes.some((scope) => !SCOPES.includes(scope));
  if (unknown) return [{ field: 'scopes', message: `must be some of: ${SCOPES.join(' ')}` }];
  const personal = scopes.filter((scope) => type === 'machine' && PERSONAL_SCOPES.includes(scope));
  if (personal.length > 0) {
    const message = `must not contain ${personal.join(' ')}: no person signs in to a machine`;
    return [{ field: 'scopes', message }];
  }
  return excessProblems(scopes, allowed, "the owner's role");
}

/** The problem of scopes that must be among those of `holder`. */
export function excessProblems(
  scopes: readonly string[],
  allowed: readonly string[],
  holder: "the owner's role" | 'the application' | 'the API',
): FieldProblem[] {
  const field = 'scopes';
  if (scopes.length === 0) return [{ field, message: 'Choose at least one scope.' }];
  if (new Set(scopes).size < scopes.length) return [{ field, message: 'must not contain duplicates' }];
  const excess = scopes.filter((scope) => !allowed.includes(scope)).join(' ');
  if (excess === '') return [];
  return [{ field, message: `must not contain ${excess.slice(0, 200)}, which ${holder} does not have` }];
}
