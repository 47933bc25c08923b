import type { ServiceError } from '@gatehouse/kit/errors';
import { bearerToken } from '@gatehouse/tokens/authorization';
import t from 'tap';

const TOKEN = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.AZaz09-_';

const GOOD: [header: string, token: string][] = [
  [`Bearer ${TOKEN}`, TOKEN],
  [`bearer ${TOKEN}`, TOKEN],
  [`BEARER   ${TOKEN}  `, TOKEN],
  ['Bearer a', 'a'],
  ['Bearer a-b._~+/c==', 'a-b._~+/c=='],
];

t.test('the token in the header', async (t) => {
  for (const [header, token] of GOOD) t.equal(bearerToken(header), token, header);
});

/** The status and the challenge that a header is refused with. */
function refusal(header: string | undefined): unknown[] {
  try {
    return [bearerToken(header)];
  } catch (error) {
    const { kind, status, headers } = error as ServiceError;
    return [kind, status, headers];
  }
}

t.test('no header: a challenge without an error code (RFC 6750 §3.1)', async (t) => {
  const challenge = { 'www-authenticate': 'Bearer realm="gatehouse"' };
  t.strictSame(refusal(undefined), ['unauthenticated', 401, challenge]);
});

const BAD = [
  '',
  'Bearer',
  'Bearer ',
  TOKEN,
  `Bearer${TOKEN}`,
  `Basic ${TOKEN}`,
  `xBearer ${TOKEN}`,
  ` Bearer ${TOKEN}`,
  `Bearer\t${TOKEN}`,
  `Bearer ${TOKEN} ${TOKEN}`,
  `Bearer ${TOKEN}, Bearer ${TOKEN}`,
  `Bearer ${TOKEN}\n`,
  'Bearer a=b',
  'Bearer =',
  'Bearer "a"',
  'Bearer ä',
  'Bearer a;b',
];

t.test('another form: invalid_request', async (t) => {
  const challenge = { 'www-authenticate': 'Bearer realm="gatehouse", error="invalid_request"' };
  for (const header of BAD) {
    t.strictSame(refusal(header), ['unauthenticated', 401, challenge], JSON.stringify(header));
  }
});
