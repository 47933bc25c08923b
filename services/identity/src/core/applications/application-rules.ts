import type { FieldProblem } from '@gatehouse/core/errors';
import { linkProblem } from '@gatehouse/core/web-uris';
import { hasInvisibleCharacters } from '@gatehouse/domain/invisible-characters';
import { API_SCOPES, OIDC_SCOPES } from '@gatehouse/tokens/scopes';
import { appearanceProblems } from '@gatehouse/web/branding';
import { type Application, isConfidential, ruleFor, signsPeopleIn } from './application.ts';
import { logoutUriProblem, MAX_REDIRECT_URIS, redirectUriProblem } from './redirect-uris.ts';
import { securityProfileProblems } from './security-profile.ts';

const MAX_NAME = 200;
const MAX_EXCHANGE_RULES = 20;
const MAX_EXCHANGE_SCOPES = 50;
/** RFC 6749 §A.1. */
const CLIENT_ID = /^[\x20-\x7e]{1,500}$/;
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
  | 'identityAssertionsGiven'
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
  refuse(
    settings.identityAssertions.length > 0 && type !== 'web',
    'identity_assertions',
    'is for applications of type web, which people sign in to and which can keep a secret',
  );
  refuse(trusted && type !== 'machine', 'trusted', 'is for applications of type machine');
  if (backchannelLogoutUri !== undefined) {
    const problem = signsPeopleIn(settings)
      ? logoutUriProblem(backchannelLogoutUri)
      : `is not for applications of type ${type}: nobody signs in to them`;
    refuse(problem !== undefined, 'backchannel_logout_uri', problem ?? '');
  }
  problems.push(
    ...exchangeProblems(settings.tokenExchange),
    ...assertionProblems(settings.identityAssertions),
  );
  return [...problems, ...appearanceProblems(settings), ...securityProfileProblems(settings)];
}

/** The problems of the APIs at which an application may act for people. `newRuleProblems` says whether they exist. */
function exchangeProblems(rules: Settings['tokenExchange']): FieldProblem[] {
  return ruleProblems('token_exchange', 'API', rules, (rule) => ({
    resource: isResource(rule.resource) ? undefined : 'must be an absolute URL without a fragment',
    scopes: areScopes(rule.scopes) ? undefined : `must be at most ${MAX_EXCHANGE_SCOPES} names of scopes`,
  }));
}

/** The scopes of an API for which an application may get tokens; undefined for another. */
export type FindScopes = (application: Application, resource: string) => Promise<string[] | undefined>;

/** The problems of rules that are wider than those of `before`. Those that it has stay, since their API may have changed. */
export async function newRuleProblems(
  next: Application,
  before: Application | undefined,
  findScopes: FindScopes,
): Promise<FieldProblem[]> {
  const found = next.tokenExchange.map(async ({ resource, scopes }, i): Promise<FieldProblem[]> => {
    const stored = ruleFor(before?.tokenExchange ?? [], resource);
    const added = scopes.filter((scope) => !stored?.scopes.includes(scope));
    if (stored !== undefined && added.length === 0) return [];
    const known = await findScopes(next, resource);
    const field = `token_exchange.${i}`;
    if (known === undefined)
      return [{ field: `${field}.resource`, message: 'is no API for which the application may get tokens' }];
    const excess = added.filter((scope) => !known.includes(scope)).join(' ');
    if (excess === '') return [];
    const message = `must not contain ${excess.slice(0, 200)}, which tokens for this API cannot have`;
    return [{ field: `${field}.scopes`, message }];
  });
  return (await Promise.all(found)).flat();
}

/** The problems of the authorization servers for which it gets identity assertions. An assertion without a scope would have no bound. */
function assertionProblems(rules: Settings['identityAssertions']): FieldProblem[] {
  return ruleProblems('identity_assertions', 'authorization server', rules, (rule) => ({
    authorization_server:
      linkProblem(rule.authorization_server) ??
      (rule.authorization_server.includes('?') ? 'must not have a query' : undefined),
    client_id: CLIENT_ID.test(rule.client_id) ? undefined : 'must be the client ID of the application there',
    scopes:
      rule.scopes.length > 0 && areScopes(rule.scopes)
        ? undefined
        : `must be 1 to ${MAX_EXCHANGE_SCOPES} names of scopes`,
    resources:
      rule.resources === undefined || areResources(rule.resources)
        ? undefined
        : `must be 1 to ${MAX_EXCHANGE_RULES} https URLs without a fragment`,
  }));
}

/** Whether a text can be the identifier of an API (RFC 8707 §2). */
const isResource = (url: string) => URL.parse(url)?.href.includes('#') === false;
/** Whether a text can be the identifier of an API elsewhere, which its server compares with the one of an assertion. */
export const isResourceElsewhere = (url: string) => linkProblem(url) === undefined;
const areResources = (urls: readonly string[]) =>
  urls.length > 0 && urls.length <= MAX_EXCHANGE_RULES && urls.every(isResourceElsewhere);
const areScopes = (scopes: readonly string[]) =>
  scopes.length <= MAX_EXCHANGE_SCOPES && scopes.every((scope) => SCOPE_TOKEN.test(scope));

/** The problems of rules, each of which is for another `thing`: the value of its first field. */
function ruleProblems<R>(
  field: string,
  thing: string,
  rules: readonly R[],
  problemsOf: (rule: R) => Partial<Record<keyof R & string, string | undefined>>,
): FieldProblem[] {
  if (rules.length > MAX_EXCHANGE_RULES)
    return [{ field, message: `must have at most ${MAX_EXCHANGE_RULES}` }];
  const found = rules.map(problemsOf);
  const [key] = Object.keys(found[0] ?? {}) as (keyof R)[];
  if (key !== undefined && new Set(rules.map((rule) => rule[key])).size < rules.length)
    return [{ field, message: `must name each ${thing} once` }];
  return found.flatMap((problems, i) =>
    Object.entries(problems).flatMap(([name, message]) =>
      typeof message === 'string' ? [{ field: `${field}.${i}.${name}`, message }] : [],
    ),
  );
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
