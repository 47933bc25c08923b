import { accepted, INVALID, invalidToken, refused, vector } from './cases.ts';
import { token, type Vector } from './signing.ts';

const MALFORMED = refused(
  401,
  'invalid_request',
  'The Authorization header must be Bearer, DPoP or ApiKey, followed by an access token or an API key.',
);
const NONE = refused(
  401,
  'unauthorized',
  'This needs an access token or an API key in the Authorization header.',
);

export async function headerVectors(): Promise<Vector[]> {
  const signed = await token();
  const good = {
    'as Bearer': `Bearer ${signed}`,
    'in small letters': `bearer ${signed}`,
    'in capitals': `BEARER ${signed}`,
    'with several spaces': `Bearer   ${signed}`,
    'with spaces behind': `Bearer ${signed}  `,
  };
  const bad = {
    'the scheme alone': 'Bearer',
    'another scheme': 'Basic YTpi',
    'a token without a scheme': signed,
    'a tab between': `Bearer\t${signed}`,
    'nothing between': `Bearer${signed}`,
    'two tokens': `Bearer ${signed} ${signed}`,
    'two tokens with a comma': `Bearer ${signed}, Bearer ${signed}`,
    'a scheme before the scheme': `DPoP Bearer ${signed}`,
    'a parameter': `Bearer token="${signed}"`,
    'an equals sign within': 'Bearer a=b',
    'an equals sign alone': 'Bearer =',
    'a quoted token': 'Bearer "a"',
    'a semicolon': 'Bearer a;b',
    'DPoP alone': 'DPoP',
    'ApiKey alone': 'ApiKey',
    'ApiKey with a colon': 'ApiKey: gatehouse_1aZ',
    'Api-Key': 'Api-Key gatehouse_1aZ',
    'X-Bearer': `XBearer ${signed}`,
    Digest: 'Digest username="a"',
    'a colon': `Bearer: ${signed}`,
    'a percent sign': 'Bearer a%20b',
  };
  const opaque = {
    'one character': 'Bearer x',
    'with padding': 'Bearer abc==',
    'all characters': 'Bearer aZ09-._~+/',
    'with a slash': 'Bearer a/b',
    'a UUID': 'Bearer 123e4567-e89b-12d3-a456-426614174000',
  };
  const all = [
    ...Object.entries(good).map(([name, value]) => vector(name, value, { expected: accepted() })),
    ...Object.entries(bad).map(([name, value]) => vector(name, value, { expected: MALFORMED })),
    ...Object.entries(opaque).map(([name, value]) =>
      vector(name, value, { expected: invalidToken(INVALID) }),
    ),
  ];
  const without = (name: string, headers: Record<string, string | string[]>, url?: string): Vector => {
    const made = vector(name, '', { expected: NONE });
    return { ...made, request: { ...made.request, ...(url === undefined ? {} : { url }), headers } };
  };
  const twice = vector('two headers', '', { expected: MALFORMED });
  all.push(
    without('no header', {}),
    without('a proof alone', { dpop: 'x' }),
    without('a token in the query', {}, `https://api.example.com/notes?access_token=${signed}`),
    without('a cookie', { cookie: `access_token=${signed}` }),
    without('the header of a proxy', { 'proxy-authorization': `Bearer ${signed}` }),
    without('a header of another name', { 'x-api-key': signed }),
    {
      ...twice,
      request: { ...twice.request, headers: { authorization: [`Bearer ${signed}`, `Bearer ${signed}`] } },
    },
    {
      ...twice,
      name: 'two headers, a malformed one first',
      request: { ...twice.request, headers: { authorization: ['Basic YTpi', `Bearer ${signed}`] } },
    },
  );
  return all;
}
