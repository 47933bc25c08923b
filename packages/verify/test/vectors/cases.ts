import { ALGS, AUDIENCE, CLOCK, type Json, token, type Vector } from './signing.ts';

const METADATA = 'resource_metadata="https://api.example.com/.well-known/oauth-protected-resource/notes"';
export const INVALID = 'The access token is not valid.';
export const REVOKED = 'The access token has been revoked.';
export const KEY_INVALID = 'The API key is not valid.';
export const notAccepted = (claim: string) => `The access token's ${claim} is not accepted here.`;

type Change = Partial<Omit<Vector, 'options' | 'request'>> & {
  options?: Partial<Vector['options']>;
  request?: Partial<Vector['request']>;
};

/** A request with this Authorization header, to an API without credentials unless the change has a feed. */
export function vector(name: string, authorization: string, change: Change): Vector {
  const { options, request, feed = { state: 'none', revocations: [] }, expected = {}, ...more } = change;
  return {
    name,
    options: { audience: AUDIENCE, hasCredentials: feed.state !== 'none', ...options },
    clock: CLOCK,
    feed,
    needs: {},
    ...more,
    request: {
      method: 'GET',
      url: `${AUDIENCE}/7`,
      ...request,
      headers: { authorization, ...request?.headers },
    },
    expected,
  };
}

/** A vector of a token of the claims changed so, as Bearer. */
export async function tokenVector(name: string, claims: Json, change: Change): Promise<Vector> {
  return vector(name, `Bearer ${await token(claims)}`, change);
}

export function accepted(change: Json = {}): Json {
  const caller = {
    subject: 'usr_1',
    clientId: 'cli_1',
    kind: 'person',
    scopes: ['notes:read', 'notes:write'],
    ...change,
  };
  return { caller: JSON.parse(JSON.stringify(caller)) };
}

/** The expected error; `more` are the parameters of the challenge between the description and `algs`. */
export function refused(
  status: 401 | 403,
  error: string,
  description: string,
  { scheme = 'Bearer', more = [] as string[], metadata = METADATA } = {},
): Json {
  const parameters = [
    ...(error === 'unauthorized' ? [] : [`error="${error}"`, `error_description="${description}"`]),
    ...more,
    ...(scheme === 'DPoP' ? [`algs="${ALGS}"`] : []),
    metadata,
  ];
  return { status, error, description, wwwAuthenticate: `${scheme} ${parameters.join(', ')}` };
}

export const invalidToken = (description = INVALID, more = {}) =>
  refused(401, 'invalid_token', description, more);

export function unavailable(description: string): Json {
  return { status: 503, error: 'temporarily_unavailable', description, wwwAuthenticate: null };
}
