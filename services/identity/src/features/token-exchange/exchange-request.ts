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

const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
/** Access tokens are JWTs. */
const TOKEN_TYPES: readonly unknown[] = [ACCESS_TOKEN, 'urn:ietf:params:oauth:token-type:jwt'];

/** Validates the parameters. Throws `invalid_request`, and `invalid_target` for more than one API. */
export function readExchange(params: Readonly<Record<string, unknown>> = {}): ExchangeRequest {
  const { subject_token: subjectToken, subject_token_type: type, scope, resource, audience } = params;
  const { requested_token_type: tokenType = ACCESS_TOKEN } = params;
  if (typeof subjectToken !== 'string') throw new errors.InvalidRequest('subject_token is required');
  if (!TOKEN_TYPES.includes(type))
    throw new errors.InvalidRequest(`subject_token_type must be ${ACCESS_TOKEN}`);
  if (!TOKEN_TYPES.includes(tokenType)) {
    throw new errors.InvalidRequest(`requested_token_type must be ${ACCESS_TOKEN}`);
  }
  if (params.actor_token !== undefined || params.actor_token_type !== undefined) {
    throw new errors.InvalidRequest('actor_token is not supported: the client is the actor');
  }
  const [target, ...others] = new Set([resource, audience].flat().filter((it) => it !== undefined));
  if (others.length > 0) throw new errors.InvalidTarget('name one resource');
  return {
    subjectToken,
    target: target === undefined ? undefined : String(target),
    scope: parseScope(String(scope ?? '')),
    tokenType: String(tokenType),
  };
}
