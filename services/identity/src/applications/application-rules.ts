import type { FieldProblem } from '@gatehouse/kit/errors';
import { API_SCOPES, OIDC_SCOPES } from '@gatehouse/tokens/scopes';
import { type Application, isConfidential } from './application.ts';
import { logoutUriProblem, MAX_REDIRECT_URIS, redirectUriProblem } from './redirect-uris.ts';

const MAX_NAME = 200;
const SCOPES: readonly string[] = [...OIDC_SCOPES, ...API_SCOPES];
/** Those that are about the person who has signed in, of whom a machine knows none. */
const OF_PERSONS: readonly string[] = [...OIDC_SCOPES, 'read:profile'];
/** Joiners stay, as scripts and emoji need them; marks that turn the reading direction could make a false name. */
const UNSEEN = /[\p{Cc}\p{Co}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u;

export type Settings = Omit<
  Application,
  'id' | 'owner' | 'secrets' | 'epoch' | 'createdAt' | 'updatedAt' | 'scopes'
>;

/** What is wrong with a name of an application or a key. */
export function nameProblems(name: string): FieldProblem[] {
  if ([...name].length > MAX_NAME)
    return [{ field: 'name', message: `must have at most ${MAX_NAME} characters` }];
  if (UNSEEN.test(name) || !/[\p{L}\p{N}\p{P}\p{S}]/u.test(name)) {
    return [{ field: 'name', message: 'must be of visible characters' }];
  }
  return [];
}

/** What is wrong with an application's settings, other than its scopes. */
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
    type !== 'machine' && settings.redirectUris.length === 0,
    'redirect_uris',
    `must have one or more for an application of type ${type}`,
  );
  refuse(
    legacyImplicit && type !== 'spa' && type !== 'web',
    'legacy_implicit',
    'is for applications of type spa and web',
  );
  refuse(
    legacyImplicit && dpopBound,
    'legacy_implicit',
    'does not go together with dpop_bound_access_tokens: the implicit flow binds no token',
  );
  refuse(
    jwks !== undefined && !isConfidential(settings),
    'jwks',
    'is for applications of type web and machine, which can keep a private key',
  );
  refuse(trusted && type !== 'machine', 'trusted', 'is for applications of type machine');
  if (backchannelLogoutUri !== undefined) {
    const problem =
      type === 'machine'
        ? 'is not for machines, as nobody signs in to them'
        : logoutUriProblem(backchannelLogoutUri);
    refuse(problem !== undefined, 'backchannel_logout_uri', problem ?? '');
  }
  return problems;
}

function uriProblems(field: string, uris: readonly string[], settings: Settings): FieldProblem[] {
  if (uris.length === 0) return [];
  if (settings.type === 'machine') return [{ field, message: 'is not for machines, which have no browser' }];
  if (uris.length > MAX_REDIRECT_URIS) {
    return [{ field, message: `must have at most ${MAX_REDIRECT_URIS}` }];
  }
  if (new Set(uris).size < uris.length) return [{ field, message: 'has one of them twice' }];
  return uris.flatMap((uri, i) => {
    const message = redirectUriProblem(uri, settings);
    return message === undefined ? [] : [{ field: `${field}.${i}`, message }];
  });
}

/** What is wrong with the scopes of an application that may not have more than `ceiling`. */
export function scopeProblems(
  scopes: readonly string[],
  { type, ceiling }: { type: Application['type']; ceiling: readonly string[] },
): FieldProblem[] {
  const field = 'scopes';
  if (scopes.length === 0) return [{ field, message: 'must name one or more' }];
  if (new Set(scopes).size < scopes.length) return [{ field, message: 'has one of them twice' }];
  const unknown = scopes.find((scope) => !SCOPES.includes(scope));
  if (unknown !== undefined) return [{ field, message: `may be of: ${SCOPES.join(' ')}` }];
  const personal = scopes.filter((scope) => type === 'machine' && OF_PERSONS.includes(scope));
  if (personal.length > 0) {
    return [{ field, message: `must not have ${personal.join(' ')}: no person signs in to a machine` }];
  }
  const beyond = scopes.filter((scope) => !ceiling.includes(scope));
  if (beyond.length > 0)
    return [{ field, message: `must not have ${beyond.join(' ')}, which its owner may not do` }];
  return [];
}

/** All scopes, for an application that no owner bounds. */
export const NO_CEILING = SCOPES;
