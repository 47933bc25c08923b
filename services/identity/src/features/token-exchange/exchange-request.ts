import { parseScope } from '@gatehouse/tokens/scopes';
import { errors } from 'oidc-provider';

/** A request to exchange a token (RFC 8693 §2.1). */
export type ExchangeRequest = {
  subjectToken: string;
  /** The API that is asked for; undefined for that of the token. */
  target: string | undefined;
  scope: readonly string[];
  /** The type of the token that is asked for, and issued (§3). */
  tokenType: string;
};

/** A request for an identity assertion (draft-ietf-oauth-identity-assertion-authz-grant-03 §4.3). */
export type AssertionRequest = {
  subjectToken: string;
  isRefreshToken: boolean;
  /** The issuer of the authorization server. */
  audience: string;
  /** The API there. */
  resource: string | undefined;
  scope: readonly string[];
};

/** The type of an identity assertion. */
export const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token';
const REFRESH_TOKEN = 'urn:ietf:params:oauth:token-type:refresh_token';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
/** Access tokens are JWTs. */
const TOKEN_TYPES: readonly unknown[] = [ACCESS_TOKEN, 'urn:ietf:params:oauth:token-type:jwt'];

type Params = Readonly<Record<string, unknown>>;

/** Validates the parameters. Throws `invalid_request`, and `invalid_target` for more than one API. */
export function readExchange(params: Params = {}): ExchangeRequest {
  const { resource, audience, requested_token_type: tokenType = ACCESS_TOKEN } = params;
  const common = readCommon(params, TOKEN_TYPES);
  if (!TOKEN_TYPES.includes(tokenType)) {
    throw new errors.InvalidRequest(`requested_token_type must be ${ACCESS_TOKEN}`);
  }
  return { ...common, target: oneOf('resource', [resource, audience]), tokenType: String(tokenType) };
}

/** Validates the parameters. Throws `invalid_request`, and `invalid_target` for more than one audience or API. */
export function readAssertionRequest(params: Params = {}): AssertionRequest {
  const common = readCommon(params, [ID_TOKEN, REFRESH_TOKEN]);
  const audience = oneOf('audience', [params.audience]);
  if (audience === undefined) throw new errors.InvalidRequest('audience is required');
  return {
    ...common,
    isRefreshToken: params.subject_token_type === REFRESH_TOKEN,
    audience,
    resource: oneOf('resource', [params.resource]),
  };
}

function readCommon(params: Params, types: readonly unknown[]) {
  const { subject_token: subjectToken, subject_token_type: type, scope } = params;
  if (typeof subjectToken !== 'string') throw new errors.InvalidRequest('subject_token is required');
  if (!types.includes(type)) {
    throw new errors.InvalidRequest(`subject_token_type must be ${types.join(' or ')}`);
  }
  if (params.actor_token !== undefined || params.actor_token_type !== undefined) {
    throw new errors.InvalidRequest('actor_token is not supported: the client is the actor');
  }
  return { subjectToken, scope: parseScope(String(scope ?? '')) };
}

/** The only value of parameters that may be repeated. Throws `invalid_target` for two. */
function oneOf(name: string, values: readonly unknown[]): string | undefined {
  const [value, ...others] = new Set(values.flat().filter((it) => it !== undefined));
  if (others.length > 0) throw new errors.InvalidTarget(`name one ${name}`);
  return value === undefined ? undefined : String(value);
}

/** The scopes that the request names, or all. Throws `invalid_scope` for more than is allowed, and for none. */
export function scopesWithin(allowed: readonly string[], asked: readonly string[]): readonly string[] {
  const excess = asked
    .filter((scope) => !allowed.includes(scope))
    .join(' ')
    .slice(0, 200);
  if (allowed.length === 0) throw new errors.InvalidScope('this exchange can have no scope', '');
  const most = `this exchange can have the scopes ${allowed.join(' ')}`.slice(0, 500);
  if (excess !== '') throw new errors.InvalidScope(most, excess);
  return asked.length === 0 ? allowed : asked;
}
